"use strict";
(() => {
  const PAGE = 25, BARS = 12, MINUS = "\u2212";
  const root = document.documentElement;
  root.classList.add("scripted");
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // --- helpers: data become text nodes, never markup, so nothing in the data can run

  const make = (name, options = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(options)) {
      if (value === null || value === undefined || value === false) continue;
      node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  };
  const draw = (name, options, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(options)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const digits = (value, significant = 4) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const text = size >= 1e6 || size < 1e-4 ? size.toExponential(significant - 1) : String(Number(size.toPrecision(significant)));
    return value < 0 ? MINUS + text : text;
  };
  const percent = (share, places = 0) => {
    const rest = 100 * Math.min(share, 1 - share);
    if (rest <= 1e-12) return share > 0.5 ? "100 %" : "0 %";
    const needed = rest >= 10 ? 0 : rest >= 1 ? 1 : 1 - Math.floor(Math.log10(rest));
    return `${(100 * share).toFixed(Math.min(Math.max(places, needed), 12))} %`;
  };
  const signed = (value, significant = 4) => (value > 0 ? "+" : "") + digits(value, significant);
  const grouped = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const variable = (number) => String.fromCharCode(65 + (number % 26)) + (number < 26 ? "" : Math.floor(number / 26));

  const unpack = ({ values, bytes, codes }) => {
    const raw = Uint8Array.from(atob(codes), (letter) => letter.charCodeAt(0));
    const view = bytes === 1 ? raw : bytes === 2 ? new Uint16Array(raw.buffer) : new Uint32Array(raw.buffer);
    return { values, codes: view, at: (row) => values[view[row]] };
  };
  const parts = data.parts.map((part) => ({ ...part, adds: unpack(part.adds), true: part.true ? unpack(part.true) : null, value: part.value ? unpack(part.value) : null, within: part.within ? unpack(part.within) : null }));
  const size = data.label.length;
  const arity = data.names.length;
  const nameOf = (row) => (data.words.example ? `${data.words.example} ${data.names[0][row]}` : data.names.map((column) => column[row]).join(", "));

  // --- light and dark

  const theme = byId("theme");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const nameTheme = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; nameTheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  // --- printing unfolds the numbers of plots and the weaker clauses

  const opened = new Set();
  addEventListener("beforeprint", () => document.querySelectorAll("figure details:not([open]), details.weaker:not([open])").forEach((each) => { each.open = true; opened.add(each); }));
  addEventListener("afterprint", () => { opened.forEach((each) => { each.open = false; }); opened.clear(); });

  // --- the threshold

  const slider = byId("threshold");
  let threshold = 0.5;
  const showThreshold = () => {
    const [tp, fp] = data.thresholds[Math.round(threshold * 100)];
    const told = {
      tp: grouped(tp), fp: grouped(fp), fn: grouped(data.positives - tp), tn: grouped(data.negatives - fp),
      precision: tp + fp ? percent(tp / (tp + fp), 1) : "none above", recall: percent(tp / data.positives, 1),
    };
    for (const [name, text] of Object.entries(told)) byId(`at-${name}`).textContent = text;
    byId("threshold-value").textContent = `${Math.round(100 * threshold)} %`;
    ring("roc", fp / data.negatives, tp / data.positives);
    if (tp + fp) ring("pr", tp / data.positives, tp / (tp + fp));
  };
  const ring = (name, x, y) => document.querySelectorAll(`#quality .ring.${name}`).forEach((node) => {
    const [left, right, bottom, top] = node.dataset.scales.split(" ").map(Number);
    node.setAttribute("cx", left + x * (right - left));
    node.setAttribute("cy", bottom + y * (top - bottom));
  });
  if (slider) {
    slider.addEventListener("input", () => { threshold = Number(slider.value); showThreshold(); if (byId("wrong").checked) refresh(); });
    showThreshold();
  }

  // --- the table

  const columns = [
    { id: "name", title: data.words.example || "example", number: false, value: (row) => names[row] },
    { id: "label", title: "label", number: true, value: (row) => data.label[row] },
    { id: "probability", title: "probability", number: true, value: (row) => data.probability[row] },
  ];
  const names = Array.from({ length: size }, (_, row) => data.names.map((column) => column[row]).join(", "));
  const lower = names.map((name) => name.toLowerCase());
  if (data.cutoff) columns.splice(1, 0, { id: "cutoff", title: "cut-off", number: true, value: (row) => data.cutoff[row] });
  const labelText = (label) => (label === 1 || label === 0 ? data.words.labels[label] : "unknown");
  const labelClass = (label) => (label === 1 ? "is-positive" : label === 0 ? "is-negative" : "");
  const state = { sort: "probability", up: false, page: 0, chosen: null, rows: [] };
  const table = byId("table"), body = make("tbody");
  const heads = columns.map((column) => {
    const button = make("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      state.up = state.sort === column.id ? !state.up : !column.number;
      state.sort = column.id;
      refresh();
    });
    return make("th", { scope: "col", class: column.number ? "number" : "name" }, button);
  });
  table.append(make("thead", {}, make("tr", {}, heads)), body);

  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  function refresh() {
    const text = byId("find").value.trim().toLowerCase();
    const label = byId("label").value, wrong = byId("wrong").checked;
    const rows = [];
    for (let row = 0; row < size; row += 1) {
      if (text && !lower[row].includes(text)) continue;
      if (label !== "" && data.label[row] !== Number(label)) continue;
      if (wrong && (data.label[row] < 0 || data.label[row] === (data.probability[row] >= threshold ? 1 : 0))) continue;
      rows.push(row);
    }
    const { value } = columns.find((column) => column.id === state.sort);
    const direction = state.up ? 1 : -1;
    rows.sort((a, b) => direction * compare(value(a), value(b)) || a - b);
    state.rows = rows;
    state.page = 0;
    heads.forEach((head, place) => {
      if (columns[place].id === state.sort) head.setAttribute("aria-sort", state.up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    byId("found").textContent = rows.length === size ? `${grouped(size)} examples` : `${grouped(rows.length)} of ${grouped(size)} examples`;
    fill();
  }

  function fill() {
    const first = state.page * PAGE;
    const pages = Math.max(1, Math.ceil(state.rows.length / PAGE));
    body.replaceChildren(...state.rows.slice(first, first + PAGE).map((row) => {
      const cells = columns.map((column) => {
        if (column.id === "name") return make("td", { class: "name" }, make("button", { type: "button", title: names[row] }, names[row]));
        if (column.id === "label") return make("td", { class: `number ${labelClass(data.label[row])}` }, labelText(data.label[row]));
        if (column.id === "cutoff") return make("td", { class: "number" }, data.cutoff[row]);
        return make("td", { class: "number" }, percent(data.probability[row], 1));
      });
      return make("tr", { "data-row": row, "aria-current": row === state.chosen ? "true" : null }, cells);
    }));
    byId("page").textContent = `page ${grouped(state.page + 1)} of ${grouped(pages)}`;
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page >= pages - 1;
  }
  const turn = (by) => {
    const pages = Math.ceil(state.rows.length / PAGE);
    const page = state.page + by;
    if (page < 0 || page >= pages) return false;
    state.page = page;
    fill();
    return true;
  };
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("find").addEventListener("input", refresh);
  byId("label").addEventListener("change", refresh);
  byId("wrong").addEventListener("change", refresh);
  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (line) choose(Number(line.dataset.row), event.detail === 0, event.detail > 0);
  });
  body.addEventListener("keydown", (event) => {
    const line = event.target.closest("tr");
    if (!line || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    const down = event.key === "ArrowDown";
    let next = down ? line.nextElementSibling : line.previousElementSibling;
    if (!next && turn(down ? 1 : -1)) next = down ? body.firstElementChild : body.lastElementChild;
    if (next) next.querySelector("button").focus();
  });

  // --- explanations

  const why = byId("why");
  why.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const line = body.querySelector("[aria-current] button") || body.querySelector("button");
    if (line) line.focus();
  });
  function choose(row, byKeyboard, byMouse) {
    state.chosen = row;
    body.querySelectorAll("tr").forEach((line) => {
      if (Number(line.dataset.row) === row) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    });
    explain(row, BARS);
    if (byKeyboard) why.focus();
    else if (byMouse && why.getBoundingClientRect().top > innerHeight - 80) why.scrollIntoView({ block: "start" });
  }

  const pieces = (list, row) => list.map((piece) => {
    if (typeof piece !== "number") return piece;
    return piece < arity ? data.names[piece][row] : make("var", {}, variable(piece));
  });

  const evidence = data.evidence || { names: {}, parts: {}, complete: true };
  function groundings(number, row) {
    const part = parts[number], known = evidence.parts[number];
    const found = known && known.rows[row];
    if (!found) return null;
    if (known.each !== undefined) {
      const list = found.map(([code, adds]) => `${known.constants[code]} ${signed(adds, 3)}`).join(", ");
      return make("p", { class: "counts by-constant" }, list);
    }
    const values = found.map((codes) => codes.map((code, place) => evidence.names[known.types[place]][code]));
    const single = part.free.length === 1;
    const list = values.map((each) => (single ? each[0] : `(${each.join(", ")})`)).join(", ");
    const letters = part.free.map(variable).join(", ");
    const more = BigInt(part.true.at(row)) > BigInt(values.length) ? ", …" : "";
    return make("p", { class: "counts" }, make("var", {}, single ? letters : `(${letters})`), ` = `, make("code", {}, list), more);
  }

  function reason(number, row, told) {
    const part = parts[number];
    if (part.value) {
      return [make("p", { class: "because" }, pieces(part.body, row), part.whether ? ": " : " is ", make("b", {}, part.value.at(row)))];
    }
    if (part.title) return [make("p", { class: "because" }, part.title), groundings(number, row)];
    if (!part.true) {
      return [make("p", { class: "because" }, told || make("code", {}, pieces(part.body, row)))];
    }
    const code = make("code", {}, pieces(part.body, row));
    const count = part.true.at(row);
    const all = part.within ? part.within.at(row) : part.total;
    let counts;
    if (!part.free.length) counts = count ? "true" : "false";
    else counts = `true ${grouped(count)}${all === undefined ? "" : `, false ${grouped(BigInt(all) - BigInt(count))}`}${part.feature ? ` (${part.feature})` : ""}`;
    return [make("p", { class: "because" }, code), make("p", { class: "counts" }, `${part.name}: ${counts}`), groundings(number, row)];
  }

  function explain(row, most) {
    const told = (data.reasons || {})[row];
    const adds = parts.map((part, number) => ({ number, value: part.adds.at(row) }));
    adds.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.number - b.number);
    adds.forEach((each, place) => { each.told = told ? told[place] : ""; });
    const telling = Math.min(most, adds.filter((each) => each.value !== 0).length);
    const shown = adds.slice(0, most > BARS ? most : telling), others = adds.slice(shown.length);
    const bars = [{ title: "prior", value: data.prior }, ...shown];
    if (others.length) bars.push({ title: others.length === 1 ? "1 other" : `${others.length} others`, value: others.reduce((sum, each) => sum + each.value, 0), others: true });
    let total = 0, low = 0, high = 0;
    for (const each of bars) {
      each.from = total;
      total += each.value;
      low = Math.min(low, total);
      high = Math.max(high, total);
    }
    const width = 150, x = (value) => 3 + ((value - low) / (high - low || 1)) * (width - 6);
    const picture = (from, to, kind) => draw("svg", { viewBox: `0 0 ${width} 20`, class: "steps", "aria-hidden": "true", preserveAspectRatio: "none" },
      draw("line", { x1: x(0), y1: 0, x2: x(0), y2: 20 }),
      draw("rect", { x: Math.min(x(from), x(to)), y: 4, width: from === to ? 0 : Math.max(Math.abs(x(to) - x(from)), 1.5), height: 12, rx: 1.5, class: kind }));
    const scale = (share) => draw("svg", { viewBox: "0 0 150 20", class: "steps", "aria-hidden": "true", preserveAspectRatio: "none" },
      draw("rect", { x: 3, y: 4, width: 144, height: 12, rx: 1.5, class: "ground" }),
      draw("rect", { x: 3, y: 4, width: Math.max(144 * share, 1.5), height: 12, rx: 1.5, class: "chance" }));
    const lines = bars.map((each) => {
      const what = each.title === undefined
        ? reason(each.number, row, each.told)
        : [make("p", { class: "because" }, each.title === "prior" ? "start, the same for all examples" : each.title)];
      if (each.others) {
        const all = make("button", { type: "button" }, "Show all");
        all.addEventListener("click", () => { explain(row, parts.length); why.focus(); });
        what.push(make("p", { class: "counts" }, all));
      }
      return make("div", { class: "fall-row", role: "row" },
        make("div", { role: "cell" }, what), make("div", { role: "cell" }, picture(each.from, each.from + each.value, each.value >= 0 ? "rise" : "fall")),
        make("p", { class: "adds", role: "cell" }, signed(each.value, 3)));
    });
    const p = data.probability[row];
    why.replaceChildren(
      make("h3", {}, nameOf(row)),
      make("p", { class: "verdict" }, make("b", {}, percent(p, 1)), ` probability of ${data.words.labels[1]}; label: `,
        make("span", { class: labelClass(data.label[row]) }, labelText(data.label[row])),
        data.heldOut && data.heldOut[row] !== null ? `; by models that were learned without it: ${percent(data.heldOut[row], 1)}` : ""),
      make("div", { role: "table", "aria-label": "What adds up to the log-odds" },
        make("div", { class: "fall-row head", role: "row" }, make("p", { role: "columnheader" }, "because"), make("p", { role: "columnheader" }, "running sum"), make("p", { role: "columnheader" }, "log-odds")),
        lines,
        make("div", { class: "fall-row sum", role: "row" }, make("div", { role: "cell" }, make("p", { class: "because" }, "sum of the log-odds")),
          make("div", { role: "cell" }, picture(0, data.logOdds[row], "whole")), make("p", { class: "adds", role: "cell" }, signed(data.logOdds[row], 3))),
        make("div", { class: "fall-row end", role: "row" }, make("div", { role: "cell" }, make("p", { class: "because" }, make("b", {}, "probability"))),
          make("div", { role: "cell" }, scale(p)), make("p", { class: "adds", role: "cell" }, percent(p, 1)))),
      noEvidence(row, told) ? make("p", { class: "quiet" }, noEvidence(row, told)) : "",
    );
    why.scrollTop = 0;
  }
  function noEvidence(row, told) {
    if (data.reasons && !told) return "This page has no reasons for this example; run hornbeam explain to see them.";
    if (data.evidence && !evidence.complete && !Object.values(evidence.parts).some((part) => part.rows[row])) return "This page has no groundings for this example; run hornbeam explain to see them.";
    return "";
  }

  refresh();
  if (state.rows.length) choose(state.rows[0], false, false);
})();
