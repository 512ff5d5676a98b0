"""How long it takes: ratios measured side by side."""
