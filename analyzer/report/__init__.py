"""Reports of an audit: for people (:mod:`~analyzer.report.text`), for editors (:mod:`~analyzer.report.concise`) and
for programs (:mod:`~analyzer.report.json`).  A renderer computes no verdicts; it shows those of the report."""
