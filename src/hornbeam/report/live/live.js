"use strict";
(() => {
  const MINUS = "\u2212";
  const byId = (id) => document.getElementById(id);
  let place = null, changes = [], state = null, asked = 0;

  // Data become text nodes, never markup. Plots alone are markup, made by the server from escaped text.
  const make = (name, options = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(options)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  };
  const drawn = (markup) => document.importNode(new DOMParser().parseFromString(markup, "text/html").body.firstChild, true);
  const number = (value, digits = 4) => String(Number(value.toPrecision(digits))).replace("-", MINUS);
  const signed = (value) => (value > 0 ? "+" : "") + (Math.abs(value) < 5e-7 ? "0" : number(value, 3));
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const predicted = (value) => (state.numeric ? number(value) : percent(value));

  const ask = async (what, body = {}) => {
    const answer = await fetch(what, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.error);
    return value;
  };
  const trying = async (work) => {
    byId("problem").hidden = true;
    try { await work(); } catch (error) {
      byId("problem").textContent = error instanceof TypeError ? "The server does not answer; is hornbeam serve still running?" : error.message;
      byId("problem").hidden = false;
      byId("problem").scrollIntoView({ block: "nearest" });
    }
  };

  // --- what-if

  const same = (one, other) => one.table === other.table && one.row === other.row && one.column === other.column;
  const change = (made, original) => {
    changes = changes.filter((each) => !same(each, made));
    if (made.column === null || made.value !== original) changes.push(made);
    byId("reset").hidden = !changes.length;
    trying(async () => {
      const turn = ++asked;
      const answer = await ask("what-if", { place, changes });
      if (turn === asked) showAnswer(answer);
    });
  };
  const toggleRow = (table, row, line, button) => {
    const gone = changes.some((each) => same(each, { table, row, column: null }));
    line.classList.toggle("removed", !gone);
    button.textContent = gone ? "Remove" : "Keep";
    if (gone) {
      changes = changes.filter((each) => !same(each, { table, row, column: null }));
      byId("reset").hidden = !changes.length;
      trying(async () => showAnswer(await ask("what-if", { place, changes })));
    } else change({ table, row, column: null }, null);
  };
  const showTables = (tables) => {
    byId("tables").replaceChildren(...tables.map((near) => make("div", { class: "near" },
      make("h3", {}, near.table),
      near.total > near.rows.length ? make("p", { class: "quiet" }, `The first ${near.rows.length} of ${near.total} rows.`) : null,
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": near.table }, make("table", {},
        make("thead", {}, make("tr", {}, near.columns.map((name) => make("th", { scope: "col" }, name)), make("th", {}, make("span", { class: "quiet-reader" }, "Remove")))),
        make("tbody", {}, near.rows.map((values, index) => {
          const row = near.numbers[index];
          const line = make("tr", {});
          line.append(...values.map((value, column) => {
            const name = near.columns[column];
            if (near.fixed.includes(name)) return make("td", {}, value);
            const cell = make("td", {}, make("input", { value, "aria-label": `${name} of ${near.table} row ${row + 1}`, spellcheck: "false",
              onchange: (event) => {
                cell.classList.toggle("changed", event.target.value !== value);
                change({ table: near.table, row, column: name, value: event.target.value }, value);
              } }));
            return cell;
          }));
          line.append(make("td", {}, make("button", { type: "button", onclick: (event) => toggleRow(near.table, row, line, event.target) }, "Remove")));
          return line;
        }))))))); 
  };
  const showAnswer = (answer) => {
    state.numeric = answer.numeric;
    const moved = answer.after.score - answer.before.score;
    const verdict = make("p", { class: "verdict" }, make("b", {}, answer.heading));
    if (changes.length) verdict.append(`; before the changes ${predicted(answer.before.prediction)}. The ${state.score} moves by `, make("b", { id: "moved" }, signed(moved)), ` to ${signed(answer.after.score)}.`);
    else verdict.append(`, ${state.score} ${signed(answer.after.score)}.`);
    const parts = answer.parts.filter((part) => part.before || part.after);
    byId("answer").replaceChildren(verdict, make("ol", { class: "moves" },
      parts.map((part) => {
        const by = part.after - part.before;
        const has = changes.length && Math.abs(by) > 5e-13;
        return make("li", { class: has ? "moved" : null },
          make("p", { class: "by" }, has ? [`${signed(part.before)} \u2192 `, make("b", {}, signed(part.after))] : signed(part.after)),
          make("p", {}, `because ${part.why_after || part.why_before}`));
      }),
      make("li", {}, make("p", { class: "by" }, signed(answer.prior)), make("p", {}, "the prior"))));
  };
  const choose = (chosen) => trying(async () => {
    const answer = await ask("example", { place: chosen });
    place = chosen;
    changes = [];
    byId("reset").hidden = true;
    showTables(answer.tables || []);
    showAnswer(answer);
  });
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    trying(async () => choose((await ask("find", { key: byId("key").value })).place));
  });
  byId("reset").addEventListener("click", () => choose(place));

  // --- edits

  const ACTIONS = [["off", "Switch off"], ["flatten", "Flatten"], ["straighten", "Straighten"], ["rise", "Must rise"], ["fall", "Must fall"], ["round", "Round"]];
  const edit = (action, effect) => trying(async () => {
    showState(await ask("edit", { edit: `${action} ${effect.name}`, by: byId("by").value }));
    if (place !== null) showAnswer(await ask("what-if", { place, changes }));
  });
  const showState = (value) => {
    state = { ...value, numeric: state ? state.numeric : false };
    document.title = value.question;
    byId("question").textContent = value.question;
    byId("summary").textContent = `${value.size}${value.edits.length ? `, ${value.edits.length} ${value.edits.length === 1 ? "edit" : "edits"}` : ""}.`;
    byId("loss").textContent = value.loss === null ? "The examples have no labels to score it on." :
      `On ${value.loss.examples} ${value.of_training ? "training examples (so this flatters it)" : "examples"}: ${value.loss.name} ${value.loss.value.toFixed(4)}, before the edits ${value.first_loss.toFixed(4)}.`;
    byId("effects").replaceChildren(...value.effects.map((effect, index) => make("li", { class: "card" },
      make("div", {}, make("p", { class: "saying" }, make("span", { class: "nth" }, String(index + 1)), effect.sentence),
        effect.change ? make("p", { class: "change" }, `${effect.change}.`) : null,
        make("p", { class: "actions" }, ACTIONS.map(([action, title]) => make("button", { type: "button", "aria-label": `${title}: effect ${index + 1}`, onclick: () => edit(action, effect) }, title)))),
      make("div", { class: "drawn" }, drawn(effect.plot)))));
    byId("edits").replaceChildren(value.edits.length ? make("ol", {}, value.edits.map((line) => make("li", {}, line))) : make("p", { class: "quiet" }, "No edits yet."));
    byId("undo").disabled = !value.undo;
  };
  byId("undo").addEventListener("click", () => trying(async () => {
    showState(await ask("undo"));
    if (place !== null) showAnswer(await ask("what-if", { place, changes }));
  }));
  byId("save").addEventListener("submit", (event) => {
    event.preventDefault();
    trying(async () => { byId("saved").textContent = `Saved as ${(await ask("save", { name: byId("file").value })).saved}.`; });
  });

  // --- light and dark

  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { byId("theme").textContent = dark() ? "Light" : "Dark"; };
  byId("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();

  trying(async () => {
    showState(await ask("state"));
    const known = await ask("examples");
    byId("keys").replaceChildren(...known.rows.map((row) => make("option", { value: row.key }, row.label)));
    byId("known").textContent = known.total > known.rows.length ? `${known.total} examples; the list has the first ${known.rows.length}.` : `${known.total} examples.`;
    if (!state.what_if) byId("known").textContent += " What-if needs tables; these data are facts.";
    if (known.rows.length && state.what_if) { byId("key").value = known.rows[0].key; await choose(0); }
  });
})();
