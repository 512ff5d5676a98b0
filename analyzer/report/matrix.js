"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const MARKS = {
    works: "✓",
    broken: "✗",
    undeclared: "!",
    unsupported: "·",
    "config-dependent": "~",
    unknown: "?",
    "not-asked": "–",
  };
  const LINK_MARKS = {
    1: ["✓", "ok", "holds"],
    0: ["✗", "no", "is broken"],
    "-1": ["?", "open", "is not known"],
  };
  const ANSWERS = { 1: "yes", 0: "no", "-1": "not known" };
  const PAGE = 10;

  const table = at("table");
  const dialog = at("cell");
  const names = data.contracts.map((contract) => contract.name);
  const leading = data.contracts.filter((contract) => contract.leading).map((contract) => contract.name);
  const usual = leading.length ? leading : names;

  /* Elements; text is always set as text, never as markup. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  function place(path, line) {
    const file = data.paths[path];
    if (!file) return null;
    const shown = line ? `${file}:${line}` : file;
    if (!data.hrefs) return make("span", { class: "place" }, shown);
    const href = data.hrefs[path].replaceAll("{line}", String(line));
    return make("a", { class: "place", href, rel: "noopener noreferrer" }, shown);
  }

  /* A long name may be broken before each of its words. */
  function breakable(name) {
    return name.split(/(?=[A-Z][a-z])/).flatMap((word, number) => (number ? [make("wbr"), word] : [word]));
  }

  /* -- filters -- */

  function choice(parent, kind, value, checked) {
    const input = make("input", { type: "checkbox", name: kind, value });
    input.defaultChecked = checked;
    const number = make("span", { class: "number" });
    const mark = kind === "verdict" ? make("span", { class: "mark", "aria-hidden": "true" }, MARKS[value]) : null;
    parent.append(make("label", { class: "choice" }, input, mark, value, number));
  }

  const roles = [...new Set(data.rows.map((row) => row.role))].sort();
  const present = new Set(data.cells.map((cell) => data.verdicts[cell[0]]));
  for (const verdict of data.verdicts.filter((v) => present.has(v))) choice(at("verdicts"), "verdict", verdict, false);
  for (const role of roles) choice(at("roles"), "role", role, false);
  for (const name of names) choice(at("contracts"), "contract", name, usual.includes(name));

  function checked(kind) {
    return new Set([...document.querySelectorAll(`input[name=${kind}]:checked`)].map((input) => input.value));
  }

  /* -- the table -- */

  let columns = [];
  let bodyRows = [];

  function cellAt(row, column) {
    const number = row.cells[column];
    return number < 0 ? null : data.cells[number];
  }

  function label(row) {
    return row.variant ? `${row.architecture} [${row.variant}]` : row.architecture;
  }

  function rowHead(row) {
    const cls = row.class.split(".").at(-1);
    const detail = [row.role, row.variant, cls !== row.architecture && cls !== row.variant ? cls : ""];
    return make(
      "th",
      { scope: "row" },
      make("b", {}, ...breakable(row.architecture)),
      make("small", {}, ...breakable(detail.filter(Boolean).join(" · "))),
    );
  }

  function cellButton(row, column) {
    const cell = cellAt(row, column);
    if (!cell) return make("td");
    const verdict = data.verdicts[cell[0]];
    const shown = cell[4] ? `${verdict} *` : verdict;
    const button = make(
      "button",
      { type: "button", tabindex: "-1", "aria-haspopup": "dialog" },
      make("span", { class: "mark", "aria-hidden": "true" }, MARKS[verdict]),
      shown,
      cell[4] ? make("span", { class: "unseen" }, ", with a finding") : null,
    );
    return make("td", { class: verdict, "data-column": column }, button);
  }

  function build() {
    const shown = checked("contract");
    columns = names.map((_, number) => number).filter((number) => shown.has(names[number]));
    at("shown").textContent = `${columns.length} of ${names.length}`;
    table.style.setProperty("--columns", columns.length);
    const head = make("tr", {}, make("th", { scope: "col" }, "Architecture"));
    for (const column of columns) {
      const button = make(
        "button",
        { type: "button", tabindex: "-1", "aria-haspopup": "dialog" },
        ...breakable(names[column]),
      );
      head.append(make("th", { scope: "col", "data-column": column }, button));
    }
    table.tHead.replaceChildren(head);
    bodyRows = data.rows.map((row, number) => {
      const element = make("tr", { "data-row": number }, rowHead(row));
      for (const column of columns) element.append(cellButton(row, column));
      return { row, element, text: `${label(row)} ${row.class} ${data.paths[row.at[0]]}`.toLowerCase() };
    });
    table.tBodies[0].replaceChildren(...bodyRows.map((entry) => entry.element));
    filter();
  }

  function filter() {
    const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = checked("verdict");
    const wanted = checked("role");
    const counts = {};
    let left = 0;
    for (const { row, element, text } of bodyRows) {
      const there = columns.map((column) => cellAt(row, column)).filter(Boolean);
      const found = new Set(there.map((cell) => data.verdicts[cell[0]]));
      const fits = (!wanted.size || wanted.has(row.role)) && words.every((word) => text.includes(word));
      if (fits) for (const verdict of found) counts[verdict] = (counts[verdict] || 0) + 1;
      const stays = fits && (!verdicts.size || [...verdicts].some((verdict) => found.has(verdict)));
      element.hidden = !stays;
      left += stays ? 1 : 0;
    }
    for (const input of document.querySelectorAll("input[name=verdict]")) {
      input.parentElement.querySelector(".number").textContent = counts[input.value] || 0;
    }
    at("count").textContent = `${left} of ${bodyRows.length} rows`;
    settle();
  }

  /* -- the keyboard: one stop for the whole table, arrows inside it -- */

  let current = null;

  function stop(button) {
    if (current) current.tabIndex = -1;
    current = button;
    if (current) current.tabIndex = 0;
  }

  function visible() {
    return [table.tHead.rows[0], ...[...table.tBodies[0].rows].filter((row) => !row.hidden)];
  }

  function buttonIn(row, position) {
    return row && row.cells[position] ? row.cells[position].querySelector("button") : null;
  }

  /* Keeps the stop where it is, else on the first cell that is left. */
  function settle() {
    if (current && current.isConnected && !current.closest("tr").hidden) return;
    stop(table.querySelector("tbody tr:not([hidden]) button") || table.querySelector("thead button"));
  }

  const STEPS = {
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    PageUp: [-PAGE, 0],
    PageDown: [PAGE, 0],
  };

  function move(event) {
    const cell = event.target.closest("td, th");
    if (!cell || event.altKey || event.metaKey) return;
    const rows = visible();
    const from = rows.indexOf(cell.parentElement);
    let target = null;
    if (event.key in STEPS) {
      const [down, right] = STEPS[event.key];
      let row = Math.min(Math.max(from + down, 0), rows.length - 1);
      let position = cell.cellIndex + right;
      target = buttonIn(rows[row], position);
      while (!target && rows[row] && position > 0 && position <= columns.length) {
        row += Math.sign(down);
        position += Math.sign(right);
        target = buttonIn(rows[row], position);
      }
    } else if (event.key === "Home" || event.key === "End") {
      const row = event.ctrlKey ? (event.key === "Home" ? rows[0] : rows.at(-1)) : rows[from];
      const buttons = [...row.querySelectorAll("button")];
      target = event.key === "Home" ? buttons[0] : buttons.at(-1);
    } else {
      return;
    }
    event.preventDefault();
    if (!target) return;
    stop(target);
    target.focus({ preventScroll: true });
    reveal(target.closest("td, th"));
  }

  /* Scrolls a cell into sight and out from under the sticky head and first column. */
  function reveal(cell) {
    at("scroll").style.scrollPadding = `${table.tHead.offsetHeight}px 0 0 ${table.tHead.rows[0].cells[0].offsetWidth}px`;
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /* -- one cell -- */

  function linkItem(number) {
    const [kind, ok, detail, path, line] = data.links[number];
    const [mark, style, says] = LINK_MARKS[ok];
    return make(
      "li",
      {},
      make("span", { class: `mark ${style}`, role: "img", "aria-label": says }, mark),
      make("div", {}, make("b", {}, `${data.texts[kind]}: `), data.texts[detail], place(path, line)),
    );
  }

  function findingItem(number) {
    const [code, weight, message, repair, path, line] = data.findings[number];
    return make(
      "li",
      { class: "wide" },
      make("b", {}, data.texts[code]),
      ` (${data.texts[weight]})`,
      make("p", {}, data.texts[message]),
      make("p", {}, data.texts[repair]),
      place(path, line),
    );
  }

  function pairs(entries) {
    const list = make("dl");
    for (const [term, ...value] of entries) list.append(make("dt", {}, term), make("dd", {}, ...value));
    return list;
  }

  function chains(cell) {
    return cell[6].flatMap(([name, links]) => [
      make("h3", {}, data.texts[name] ? `Chain: ${data.texts[name]}` : "Chain"),
      make("ol", {}, ...links.map(linkItem)),
    ]);
  }

  function showCell(row, column) {
    const contract = data.contracts[column];
    const cell = cellAt(row, column);
    const verdict = data.verdicts[cell[0]];
    const checker = contract.checker || `isinstance ${contract.name}`;
    const chip = make("span", { class: `chip ${verdict}` }, `${MARKS[verdict]} ${verdict}`);
    const parts = [make("p", {}, chip)];
    if (data.texts[cell[1]]) parts.push(make("p", {}, data.texts[cell[1]]));
    parts.push(
      pairs([
        ["Class", ...breakable(row.class.split(".").at(-1)), place(...row.at)],
        ["Role", row.role],
        [checker, `${ANSWERS[cell[2]]} for an object, ${ANSWERS[cell[3]]} for the class`],
      ]),
    );
    if (cell[5].length) parts.push(make("h3", {}, "Findings"), make("ul", {}, ...cell[5].map(findingItem)));
    parts.push(...chains(cell));
    show(`${label(row)}: ${contract.name}`, parts);
    history.replaceState(null, "", address(row, column));
  }

  function showContract(column) {
    const contract = data.contracts[column];
    const counts = {};
    for (const row of data.rows) {
      const cell = cellAt(row, column);
      if (cell) counts[data.verdicts[cell[0]]] = (counts[data.verdicts[cell[0]]] || 0) + 1;
    }
    const uses = contract.uses.map(([text, path, line]) =>
      make("li", { class: "wide" }, data.texts[text], place(path, line)),
    );
    show(contract.name, [
      pairs([
        ["Defined", place(...contract.at)],
        ["Checker", contract.checker || "none"],
        ["Members", contract.members.join(", ") || "none"],
        ...data.verdicts.filter((verdict) => counts[verdict]).map((verdict) => [verdict, String(counts[verdict])]),
      ]),
      make("h3", {}, "Asked by"),
      uses.length ? make("ul", {}, ...uses) : make("p", {}, "Nothing outside the models was found to ask for it."),
    ]);
  }

  function show(title, parts) {
    at("title").replaceChildren(...breakable(title));
    at("body").replaceChildren(...parts);
    dialog.showModal();
    dialog.scrollTop = 0;
    at("title").focus({ focusVisible: false });
  }

  function open(event) {
    const cell = event.target.closest("td, th");
    const button = cell && cell.querySelector("button");
    if (!button) return;
    stop(button);
    const column = Number(cell.dataset.column);
    if (cell.parentElement.dataset.row === undefined) showContract(column);
    else showCell(data.rows[Number(cell.parentElement.dataset.row)], column);
  }

  /* A cell has an address, so that it can be sent to somebody. */
  function address(row, column) {
    return `#${encodeURIComponent(label(row))}/${encodeURIComponent(names[column])}`;
  }

  function openAddress() {
    const row = data.rows.findIndex((entry) => names.some((_, column) => address(entry, column) === location.hash));
    if (row < 0) return;
    const column = names.findIndex((_, number) => address(data.rows[row], number) === location.hash);
    const input = document.querySelector(`input[name=contract][value="${CSS.escape(names[column])}"]`);
    if (!input.checked) {
      input.checked = true;
      build();
    }
    const button = bodyRows[row].element.querySelector(`[data-column="${column}"] button`);
    if (!button) return;
    reveal(button.closest("td"));
    button.click();
  }

  function closed() {
    history.replaceState(null, "", location.pathname + location.search);
    if (current) current.focus();
  }

  /* -- wiring -- */

  let waiting = 0;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 80);
  });
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  at("filters").addEventListener("change", (event) => (event.target.name === "contract" ? build() : filter()));
  at("filters").addEventListener("reset", () => setTimeout(build));
  for (const button of document.querySelectorAll("[data-columns]")) {
    button.addEventListener("click", () => {
      for (const input of document.querySelectorAll("input[name=contract]")) {
        input.checked = button.dataset.columns === "all" || usual.includes(input.value);
      }
      build();
    });
  }
  table.addEventListener("keydown", move);
  table.addEventListener("click", open);
  at("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", closed);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    if (current) current.focus();
  });

  if (data.problems.length) {
    at("problems").hidden = false;
    at("problems").querySelector("summary").textContent = `Not read: ${data.problems.length}`;
    at("problems").querySelector("ul").append(...data.problems.map((problem) => make("li", {}, problem)));
  }
  build();
  openAddress();
})();
