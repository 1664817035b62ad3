// The review page. Text from data only ever becomes textContent.

const ROW = 72; // height of a line of the list, as in review.css
const SPARE = 6; // lines rendered above and below the window
const BATCH = 100;
const POLL = 4000;
const KEYS = [
  ["R", "label is right"],
  ["S", "take the suggestion"],
  ["C", "another class: type to search"],
  ["1 – 5", "one of the most probable classes"],
  ["D", "drop: it belongs to no class"],
  ["U", "not sure"],
  ["Z", "undo, without end"],
  ["Shift Z", "redo"],
  ["J or ↓", "next label"],
  ["K or ↑", "previous label"],
  ["Shift J, Shift K", "select several"],
  ["N", "decide the neighbours together with the label"],
  ["M", "write a note"],
  ["/", "search"],
  ["F", "filters"],
  ["E", "estimate"],
  ["Esc", "clear the selection"],
  ["?", "these keys"],
];

const $ = (id) => document.getElementById(id);
let about; // what /api/start says
let reviewer = "";
let rows = []; // of the list, in order
let checks = new Set(); // rows that are random checks
let places = new Map(); // row → place in the list
let row = null; // the current one
let place = -1; // its place in the list, or -1
let selected = new Set();
let together = null; // the row whose neighbours are selected with it
let briefs = new Map(); // row → what the list shows
let details = new Map(); // row → promise of everything about it
let last = 0; // the newest decision that the page knows

// Talking to the server

async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Start noiselimit review again; all decisions that you saw marked are stored.");
  }
  const kind = answer.headers.get("content-type") || "";
  const content = kind.startsWith("application/json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw new Error(content.error || "The server could not answer.");
  return content;
}

let working = Promise.resolve();
function busy(more) {
  document.body.dataset.busy = Number(document.body.dataset.busy ?? 0) + more;
}

function inTurn(work) {
  // Keys that are pressed while a decision is stored wait for it.
  busy(1);
  working = working.then(work).catch(complain).finally(() => busy(-1));
  return working;
}

function complain(error) {
  const box = $("problem");
  box.querySelector("p").textContent = error.message;
  box.hidden = false;
}

// Making elements

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const unseen = (textContent) => make("span", { className: "unseen", textContent }); // for screen readers
// Isolated, so that a name cannot reverse the words around it.
const className = (number) => (number === null || number < 0 ? "no label" : `\u2068${about.classes[number]}\u2069`);
const percent = (value) => `${Math.round(100 * value)} %`;
const chance = (value) => (value >= 0.995 ? "> 99 %" : value < 0.005 ? "< 1 %" : percent(value)); // nothing is certain
const plural = (value, what) => `${count(value)} ${what}${value === 1 ? "" : "s"}`;
const count = (value) => Math.round(value).toLocaleString("en");
const isDecided = (brief) => brief && brief.votes.length > 0;

function thumbnail(number, label) {
  const image = make("img", { alt: label, loading: "lazy", decoding: "async", draggable: false });
  image.src = `/picture/${number}`;
  return image;
}

function outcome(brief) {
  const vote = brief.votes.at(-1);
  if (!vote) return "";
  if (brief.conflict) return "conflict";
  return { keep: "right", drop: "dropped", unsure: "not sure", relabel: `→ ${className(vote.label)}` }[vote.action];
}

function describe(number, brief) {
  const parts = [`row ${number}`, `given ${className(brief.given)}`];
  if (brief.suggested !== brief.given) parts.push(`suggested ${className(brief.suggested)}`);
  parts.push(`wrong with ${chance(brief.probability)}`);
  if (checks.has(number)) parts.push("random check");
  if (outcome(brief)) parts.push(outcome(brief));
  return parts.join(", ");
}

// The list, of which only what is visible exists

const lines = new Map(); // place → element
let missing = false;

function renderList() {
  const list = $("list");
  const from = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
  const to = Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
  for (const [at, element] of lines) {
    if (at < from || at >= to) {
      element.remove();
      lines.delete(at);
    }
  }
  const unknown = [];
  for (let at = from; at < to; at++) {
    const brief = briefs.get(rows[at]);
    if (!brief) unknown.push(rows[at]);
    let line = lines.get(at);
    if (!line) {
      line = make("div", { id: `line-${at}`, className: "line" });
      line.setAttribute("role", "option");
      line.style.transform = `translateY(${at * ROW}px)`;
      line.setAttribute("aria-setsize", rows.length);
      line.setAttribute("aria-posinset", at + 1);
      line.dataset.place = at;
      lines.set(at, line);
      $("spacer").append(line);
    }
    fillLine(line, rows[at], brief);
  }
  list.setAttribute("aria-activedescendant", place >= 0 ? `line-${place}` : "");
  if (unknown.length && !missing) fetchBriefs(unknown);
}

function fillLine(line, number, brief) {
  line.setAttribute("aria-selected", selected.size ? selected.has(number) : number === row);
  line.classList.toggle("current", number === row);
  const key = brief ? `${number} ${JSON.stringify(brief.votes)}` : "";
  if (line.dataset.key === key) return;
  line.dataset.key = key;
  if (!brief) {
    line.replaceChildren();
    return;
  }
  const done = outcome(brief);
  const change = [unseen("given "), make("bdi", { className: "given", textContent: className(brief.given) })];
  if (brief.suggested !== brief.given) {
    change.push(" → ", unseen("suggested "), make("bdi", { className: "suggested", textContent: className(brief.suggested) }));
  }
  line.classList.toggle("decided", Boolean(done));
  line.replaceChildren(
    about.kind === "picture" ? thumbnail(number, "") : "",
    make(
      "div",
      { className: "words" },
      make("div", { className: "change" }, ...change),
      make("div", { className: "soft", dir: "auto", textContent: brief.preview || brief.name || `row ${number}` }),
    ),
    make(
      "div",
      { className: "mark" },
      make(
        "div",
        { className: brief.conflict ? "conflict" : done ? "outcome" : "" },
        unseen(done ? "decided: " : "wrong with "),
        done || chance(brief.probability),
      ),
      checks.has(number) ? make("div", { className: "badge", textContent: "check" }) : "",
    ),
  );
}

async function fetchBriefs(numbers) {
  missing = true;
  try {
    await loadBriefs(numbers);
  } catch (error) {
    complain(error);
    return;
  } finally {
    missing = false;
  }
  renderList();
}

async function loadBriefs(numbers) {
  for (let at = 0; at < numbers.length; at += BATCH) {
    const found = await ask(`/api/rows?ids=${numbers.slice(at, at + BATCH)}`);
    for (const [number, brief] of Object.entries(found)) briefs.set(Number(number), brief);
  }
}

async function loadList() {
  const query = new URLSearchParams({ order: $("order").value, state: $("state").value, search: $("search").value.trim() });
  query.set("scope", $("scope").checked ? "all" : "flagged");
  const [given, suggested] = $("pair").value.split(",");
  if (suggested !== undefined) {
    query.set("given", given);
    query.set("suggested", suggested);
  }
  const [low, high] = $("probability").value.split(",");
  if (high !== undefined) {
    query.set("low", low);
    query.set("high", high);
  }
  show(await ask(`/api/list?${query}`));
}

function show(found) {
  rows = found.rows;
  checks = new Set(found.checks.map((at) => rows[at]));
  places = new Map(rows.map((number, at) => [number, at]));
  lines.forEach((line) => line.remove());
  lines.clear();
  selected.clear();
  together = null;
  $("spacer").style.height = `${rows.length * ROW}px`;
  $("list").scrollTop = 0;
  const random = checks.size ? `, ${count(checks.size)} of them random checks` : "";
  $("count").textContent = rows.length ? `${plural(rows.length, "label")}${random}` : "No label matches.";
  if (rows.length) return go(rows[0]);
  finish();
}

function scrollTo(at) {
  const list = $("list");
  if (at * ROW < list.scrollTop) list.scrollTop = at * ROW;
  else if ((at + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (at + 1) * ROW - list.clientHeight;
}

// The current label

function finish() {
  row = null;
  place = -1;
  for (const id of ["example", "verdict", "near", "typical"]) $(id).hidden = true;
  $("finished").hidden = false;
  say("Nothing is left in this list.");
  renderList();
  renderActions();
}

function detail(number) {
  if (!details.has(number)) {
    if (details.size > 200) details.clear();
    const found = ask(`/api/row/${number}`);
    found.catch(() => details.delete(number));
    details.set(number, found);
  }
  return details.get(number);
}

async function go(number) {
  row = number;
  place = places.get(number) ?? -1;
  if (place >= 0) scrollTo(place);
  renderList();
  const found = await detail(number);
  if (row !== number) return;
  briefs.set(number, { ...found });
  renderDetail(found);
  renderList();
  renderActions();
  renderNear(number, found.other);
  for (const at of [place + 1, place + 2]) {
    if (place >= 0 && at < rows.length) prefetch(rows[at]);
  }
}

async function prefetch(number) {
  try {
    const found = await detail(number);
    if (about.kind === "picture") new Image().src = `/picture/${number}?large=1`;
    near(number, found.other);
  } catch {
    // The label itself will say why.
  }
}

function renderDetail(found) {
  for (const id of ["example", "verdict", "near", "typical"]) $(id).hidden = false;
  $("finished").hidden = true;
  $("work").scrollTop = 0;
  renderStage(found);
  $("which").textContent = found.name ? `${found.name} · row ${found.row}` : `row ${found.row}`;
  $("given").textContent = className(found.given);
  const agrees = found.suggested === found.given;
  $("suggested").textContent = agrees ? "the same" : className(found.suggested);
  $("suggested").classList.toggle("agrees", agrees);
  $("chance-bar").style.width = `${100 * found.probability}%`;
  $("chance-text").textContent = `wrong with a probability of ${chance(found.probability)}`;
  const badges = [];
  if (checks.has(found.row)) badges.push(make("span", { className: "badge", textContent: "random check", title: "Drawn at random, so that your order does not bias the estimate." }));
  if (!found.flagged) badges.push(make("span", { className: "badge plain", textContent: "not flagged" }));
  if (found.conflict) badges.push(make("span", { className: "badge conflict", textContent: "reviewers disagree" }));
  $("badges").replaceChildren(...badges);
  $("probable").replaceChildren(
    ...found.probable.map(({ label, probability }, at) => {
      const bar = make("div", { className: "fill" });
      bar.style.width = `${100 * probability}%`;
      const button = make(
        "button",
        { className: "class", title: `This class is right (${at + 1})`, onclick: () => inTurn(() => decide("relabel", label)) },
        make("kbd", { textContent: at + 1 }),
        make("bdi", { textContent: className(label), className: label === found.given ? "given" : label === found.suggested ? "suggested" : "" }),
        make("span", { textContent: chance(probability) }),
        bar,
      );
      return make("li", {}, button);
    }),
  );
  $("note").value = "";
  renderVotes(found);
}

function renderVotes(found) {
  const said = { keep: "label is right", drop: "drop", unsure: "not sure", undo: "undo" };
  const word = (vote) => (vote.action === "relabel" ? className(vote.label) : said[vote.action]);
  const votes = found.votes.map((vote) =>
    make("li", {}, make("bdi", { textContent: vote.reviewer }), ": ", make("bdi", { className: "decision", textContent: word(vote) }), vote.note ? " – " : "", make("bdi", { textContent: vote.note })),
  );
  const past = found.history.map((entry) =>
    make("li", {}, make("time", { dateTime: entry.time, textContent: new Date(entry.time).toLocaleString() }), " ", make("bdi", { textContent: entry.reviewer }), ": ", make("bdi", { textContent: word(entry) })),
  );
  $("votes").replaceChildren(
    votes.length ? make("h2", { textContent: "Decided" }) : "",
    votes.length ? make("ul", {}, ...votes) : "",
    past.length ? make("details", {}, make("summary", { textContent: "History" }), make("ul", { className: "history" }, ...past)) : "",
  );
}

function renderStage(found) {
  const stage = $("stage");
  stage.className = about.kind;
  if (about.kind === "picture") {
    const image = make("img", { alt: `Row ${found.row}, given as ${className(found.given)}`, draggable: false });
    image.onload = () => image.classList.toggle("small", Math.max(image.naturalWidth, image.naturalHeight) <= 128);
    image.src = `/picture/${found.row}?large=1`;
    stage.replaceChildren(image);
    return;
  }
  const texts = found.texts.map(({ name, text }) =>
    make("div", { className: "text" }, found.texts.length > 1 ? make("h2", {}, make("bdi", { textContent: name })) : "", make("p", { textContent: text, dir: "auto", tabIndex: 0, role: "region", "aria-label": name })),
  );
  stage.replaceChildren(...texts, found.columns.length ? table(found) : "");
}

function table(found) {
  const compare = found.columns.some((column) => column.given || column.other);
  const heading = (text, name = "") => make("th", { scope: "col", className: name }, text);
  const head = make("tr", {}, heading("column"), heading("this row"));
  if (compare) {
    head.append(heading(make("span", {}, "usual for ", make("bdi", { className: "given", textContent: className(found.given) }))));
    head.append(heading(make("span", {}, "usual for ", make("bdi", { className: "suggested", textContent: className(found.other) }))));
  }
  const body = found.columns.map((column) => {
    const name = make("th", { scope: "row" }, make("bdi", { textContent: column.name }));
    if (column.telling) name.append(" ", make("span", { className: "badge", textContent: "distinctive", title: "This value is more usual for the suggested class." }));
    const cells = [name, make("td", {}, make("bdi", { textContent: column.value }))];
    if (compare) cells.push(make("td", {}, make("bdi", { textContent: column.given })), make("td", {}, make("bdi", { textContent: column.other })));
    return make("tr", { className: column.telling ? "telling" : "" }, ...cells);
  });
  const found_table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Columns" }, found_table);
}

// Neighbours and examples

const nearby = new Map();
function near(number, other) {
  const key = `${number},${other}`;
  if (!nearby.has(key)) {
    if (nearby.size > 100) nearby.clear();
    const found = ask(`/api/near/${number}?other=${other}`);
    nearby.set(key, found);
    found.then((answer) => answer.ready || nearby.delete(key)).catch(() => nearby.delete(key));
  }
  return nearby.get(key);
}

async function renderNear(number, other) {
  const found = await near(number, other);
  if (row !== number) return;
  for (const [key, brief] of Object.entries(found.rows)) if (!briefs.has(Number(key))) briefs.set(Number(key), brief);
  const mine = briefs.get(number);
  $("given-class").textContent = className(mine.given);
  $("other-class").textContent = className(other);
  $("given-examples").replaceChildren(...found.examples.given.map((each) => tile(each, found.rows[each])));
  $("other-examples").replaceChildren(...found.examples.other.map((each) => tile(each, found.rows[each])));
  $("neighbours").replaceChildren(...found.neighbours.map((each) => tile(each, found.rows[each], mine, other)));
  $("same").disabled = !found.neighbours.length;
  if (!found.ready) {
    $("near-text").textContent = `${found.why} Neighbours are being computed …`;
    setTimeout(() => row === number && renderNear(number, other).catch(complain), 700);
    return;
  }
  $("near-text").textContent = `${found.why} ${found.problem ?? ""}`;
}

function tile(number, brief, mine, other) {
  const label = make("bdi", { textContent: className(brief.given) });
  if (mine) label.className = brief.given === mine.given ? "given" : brief.given === other ? "suggested" : "";
  const looks = about.kind === "picture" ? thumbnail(number, "") : make("span", { className: "snippet", dir: "auto", textContent: brief.preview });
  if (!mine) return make("li", {}, make("div", { className: "tile" }, looks));
  const button = make("button", { className: "tile", onclick: () => choose(number) }, looks, label);
  button.title = describe(number, brief);
  button.setAttribute("aria-pressed", selected.has(number));
  button.dataset.row = number;
  return make("li", {}, button);
}

function choose(number) {
  // Add a neighbour to what is decided together, or take it away.
  if (together !== row) {
    selected = new Set([row]);
    together = row;
  }
  if (!selected.delete(number)) selected.add(number);
  if (selected.size === 1) clearSelection();
  renderSelection();
}

function chooseNeighbours() {
  const tiles = [...$("neighbours").querySelectorAll("button")];
  if (!tiles.length) return;
  if (together === row) clearSelection();
  else {
    selected = new Set([row, ...tiles.map((each) => Number(each.dataset.row))]);
    together = row;
  }
  renderSelection();
  if (selected.size) say($("together").textContent);
}

function clearSelection() {
  selected.clear();
  together = null;
  renderSelection();
}

function renderSelection() {
  for (const button of $("neighbours").querySelectorAll("button")) button.setAttribute("aria-pressed", selected.has(Number(button.dataset.row)));
  renderList();
  renderActions();
}

function renderActions() {
  const brief = briefs.get(row);
  for (const id of ["keep", "take", "other", "drop", "unsure"]) $(id).disabled = !brief;
  const words = $("together");
  words.hidden = !selected.size;
  if (!brief) return;
  const agrees = brief.suggested === brief.given;
  $("take-text").textContent = agrees ? "Label is right" : `Relabel as ${className(brief.suggested)}`;
  if (!selected.size) return;
  const size = `${count(selected.size)} labels are decided together`;
  words.textContent = together === row ? `${size}: S relabels all as ${className(brief.suggested)}.` : `${size}: S gives each its own suggestion.`;
}

// Moving and deciding

function move(by, extend) {
  if (!rows.length) return;
  const to = Math.min(Math.max(place + by, 0), rows.length - 1);
  if (extend) {
    if (!selected.size || together !== null) selected = new Set(row === null ? [] : [row]);
    together = null;
    if (selected.has(rows[to]) && rows[to] !== row) selected.delete(row);
    else selected.add(rows[to]);
  } else if (selected.size) clearSelection();
  return go(rows[to]).then(renderSelection);
}

function nextOpen(from) {
  for (let at = from + 1; at < rows.length; at++) if (!isDecided(briefs.get(rows[at]))) return rows[at];
  for (let at = 0; at <= from; at++) if (briefs.has(rows[at]) && !isDecided(briefs.get(rows[at]))) return rows[at];
  return null;
}

async function decide(action, label = null, suggested = false) {
  if (row === null) return;
  const chosen = selected.size ? [...selected] : [row];
  if (suggested && together === row) {
    label = briefs.get(row).suggested; // the same for all neighbours
    suggested = false;
  }
  // A neighbour was chosen, even if it would have come up as a random check later.
  const drawn = (each) => checks.has(each) && (together === null || each === row);
  const body = { rows: chosen.map((each) => ({ row: each, drawn: drawn(each) })), action, label, suggested, note: $("note").value.trim(), reviewer };
  const answer = await ask("/api/decide", body);
  await takeOver(answer.states);
  const words = { keep: "label is right", drop: "dropped", unsure: "not sure", relabel: label === null ? "suggestion taken" : className(label) }[action];
  say(`${chosen.length > 1 ? `${chosen.length} labels` : `Row ${chosen[0]}`}: ${words}.`);
  selected.clear();
  together = null;
  if (document.activeElement === $("note")) $("note").blur();
  estimateSoon();
  if ($("state").value !== "open") {
    await go(place >= 0 && place + 1 < rows.length ? rows[place + 1] : row);
  } else {
    const next = nextOpen(place);
    if (next === null) finish();
    else await go(next);
  }
  renderSelection();
}

async function takeOver(states) {
  const unknown = [];
  for (const [key, state] of Object.entries(states)) {
    const number = Number(key);
    details.delete(number);
    if (briefs.has(number)) briefs.set(number, { ...briefs.get(number), ...state });
    else unknown.push(number);
  }
  if (unknown.length) await loadBriefs(unknown);
  renderList();
}

async function reverse(what) {
  const answer = await ask(`/api/${what}`, { reviewer });
  if (!answer.rows.length) return say(`There is nothing to ${what}.`);
  await takeOver(answer.states);
  clearSelection();
  estimateSoon();
  const many = answer.rows.length > 1 ? `${answer.rows.length} labels` : `row ${answer.rows[0]}`;
  say(`${what === "undo" ? "Undone" : "Redone"}: ${many}.`);
  await go(answer.rows.find((each) => places.has(each)) ?? answer.rows[0]);
}

function say(words) {
  const live = $("live");
  live.textContent = words;
  live.classList.remove("shown");
  void live.offsetWidth;
  live.classList.add("shown");
}

// The estimate

let waiting;
function estimateSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(() => loadEstimate().catch(complain), 250);
}

const range = ({ low, high }, format) => (format(low) === format(high) ? "" : ` (${format(low)} to ${format(high)})`);

async function loadEstimate() {
  const found = await ask("/api/estimate");
  $("bar").max = Math.max(about.flagged, 1);
  $("bar").value = found.flagged_decided;
  $("done").textContent = `${count(found.flagged_decided)} of ${count(about.flagged)} flagged decided`;
  $("left").textContent = `about ${count(found.remaining.value)} wrong labels left`;
  const figures = [];
  const add = (name, value, more = "") => figures.push(make("div", {}, make("dt", { textContent: name }), make("dd", {}, make("strong", { textContent: value }), make("span", { className: "soft", textContent: more }))));
  add("Wrong labels not yet decided", `about ${count(found.remaining.value)}`, range(found.remaining, count));
  if (found.precision) add("Flagged labels that are wrong", percent(found.precision.value), range(found.precision, percent));
  add("Worth a review", count(found.budget), ` more labels, ${count(found.budget_finds)} of them wrong; of the rest, fewer than 1 in ${Math.round(1 / found.worth)} is`);
  add("Found", count(found.found), ` wrong labels among ${count(found.decided)} decided`);
  if (found.unsure || found.conflicts) add("Open questions", count(found.unsure + found.conflicts), ` (${count(found.unsure)} not sure, ${count(found.conflicts)} conflicts)`);
  $("figures").replaceChildren(...figures);
  $("basis").textContent = found.draws
    ? `The ranges in brackets hold the truth in 19 of 20 reviews. They come from ${plural(found.draws, "random check")} and narrow as you review.`
    : "The ranges in brackets narrow with the random checks, one in eight labels.";
}

async function poll() {
  const found = await ask(`/api/changes?after=${last}`);
  if (found.last === last) return;
  last = found.last;
  if (!found.all) briefs.clear();
  await takeOver(found.states);
  if (row in found.states) renderVotes(await detail(row));
  estimateSoon();
}

async function watchAudit() {
  const found = await ask("/api/reaudit");
  $("reaudit").disabled = found.running;
  $("reaudit-state").textContent = found.message;
  if (found.running) setTimeout(() => watchAudit().catch(complain), 1500);
  else if (found.done && found.done !== about.reaudited) {
    about = { ...about, ...(await ask("/api/start")), reaudited: found.done };
    briefs.clear();
    details.clear();
    nearby.clear();
    fillPairs();
    await loadList();
    await loadEstimate();
  }
}

// Another class

let active = 0;
let typed = null; // keys that are pressed while the dialog waits for a decision that is being stored
function openClasses() {
  const keys = typed ?? [];
  typed = null;
  if (row === null) return;
  $("class-input").value = keys.filter((key) => key.length === 1).join("");
  const found = renderClasses();
  if (keys.includes("Enter") && found.length) return decide("relabel", found[0]);
  $("classes").showModal();
}

function renderClasses() {
  const words = $("class-input").value.trim().toLowerCase();
  const rank = (number) => {
    const name = about.classes[number].toLowerCase();
    return name === words ? 0 : name.startsWith(words) ? 1 : name.includes(words) ? 2 : 3;
  };
  const found = about.classes.map((_, number) => number).filter((number) => rank(number) < 3);
  found.sort((a, b) => rank(a) - rank(b) || a - b);
  active = 0;
  $("class-list").replaceChildren(
    ...found.slice(0, 200).map((number, at) => {
      const option = make("li", { id: `class-${at}`, onclick: () => pick(number) }, make("bdi", { textContent: className(number) }));
      option.setAttribute("role", "option");
      option.dataset.number = number;
      return option;
    }),
  );
  markActive(0);
  return found;
}

function markActive(at) {
  const options = [...$("class-list").children];
  active = Math.min(Math.max(at, 0), options.length - 1);
  options.forEach((option, place) => option.setAttribute("aria-selected", place === active));
  $("class-input").setAttribute("aria-activedescendant", options.length ? `class-${active}` : "");
  options[active]?.scrollIntoView({ block: "nearest" });
}

function pick(number) {
  $("classes").close();
  inTurn(() => decide("relabel", number));
}

// Keys

const commands = {
  r: () => decide("keep"),
  s: () => decide("relabel", null, true),
  d: () => decide("drop"),
  u: () => decide("unsure"),
  z: () => reverse("undo"),
  Z: () => reverse("redo"),
  y: () => reverse("redo"),
  c: openClasses,
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  J: () => move(1, true),
  K: () => move(-1, true),
  n: chooseNeighbours,
  m: () => $("note").focus(),
  "/": () => openSide("search"),
  f: () => openSide("order"),
  e: () => $("estimate-button").click(),
  "?": () => $("help").showModal(),
  Escape: clearSelection,
};
for (const digit of [1, 2, 3, 4, 5]) {
  commands[digit] = async () => {
    const found = row !== null && (await detail(row)).probable[digit - 1];
    if (found) return decide("relabel", found.label);
  };
}

function openSide(id) {
  toggle("list-button", "side", true);
  $(id).focus();
}

function toggle(button, section, open) {
  const opened = open ?? $(button).getAttribute("aria-expanded") !== "true";
  $(button).setAttribute("aria-expanded", opened);
  if (section === "side") document.body.classList.toggle("with-list", opened);
  else $(section).hidden = !opened;
  renderList();
}

let pointed = false; // whether the pointer was used after the last key
function onKey(event) {
  pointed = false;
  if (document.querySelector("dialog[open]") || event.altKey) return;
  if (typed !== null) {
    typed.push(event.key);
    event.preventDefault();
    return;
  }
  const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
  if (typing) {
    if (event.key === "Escape" || (event.key === "Enter" && !event.target.matches("select"))) {
      event.target.blur();
      $("list").focus({ preventScroll: true });
    }
    return;
  }
  let key = event.key;
  if (event.ctrlKey || event.metaKey) {
    if (key.toLowerCase() !== "z" && key.toLowerCase() !== "y") return;
  } else if (key.length === 1 && !$("shortcuts").checked) return;
  if (event.shiftKey && key === "ArrowDown") key = "J";
  if (event.shiftKey && key === "ArrowUp") key = "K";
  if (key.length === 1 && !event.shiftKey) key = key.toLowerCase(); // with the caps lock on, too
  const command = Object.hasOwn(commands, key) && commands[key];
  if (!command) return;
  event.preventDefault();
  if (command === openClasses) typed = [];
  inTurn(command);
}

function onLine(event) {
  const line = event.target.closest(".line");
  if (!line) return;
  const at = Number(line.dataset.place);
  if (event.shiftKey && place >= 0) {
    const [from, to] = [Math.min(place, at), Math.max(place, at)];
    selected = new Set(rows.slice(from, to + 1).slice(0, 500));
    together = null;
  } else if (event.ctrlKey || event.metaKey) {
    if (!selected.size) selected = new Set(row === null ? [] : [row]);
    together = null;
    if (!selected.delete(rows[at])) selected.add(rows[at]);
  } else {
    selected.clear();
    together = null;
    toggle("list-button", "side", false);
    inTurn(() => go(rows[at]));
  }
  renderSelection();
}

// Starting

function askName(force) {
  return new Promise((resolve) => {
    const dialog = $("who");
    $("who-input").value = reviewer;
    dialog.oncancel = (event) => force && event.preventDefault();
    dialog.onclose = () => {
      reviewer = $("who-input").value.trim() || reviewer;
      if (reviewer) sessionStorage.setItem("reviewer", reviewer);
      $("name").textContent = reviewer;
      resolve();
    };
    dialog.showModal();
  });
}

function fillPairs() {
  const chosen = $("pair").value;
  const options = about.pairs.map(({ given, suggested, count: size }) => make("option", { value: `${given},${suggested}`, textContent: `${className(given)} → ${className(suggested)} (${size})` }));
  $("pair").replaceChildren(make("option", { value: "", textContent: "all pairs" }), ...options);
  $("pair").value = chosen;
  if ($("pair").selectedIndex < 0) $("pair").value = "";
}

function listen() {
  document.addEventListener("keydown", onKey);
  $("list").addEventListener("scroll", renderList, { passive: true });
  $("list").addEventListener("click", onLine);
  new ResizeObserver(() => {
    if (place >= 0) scrollTo(place);
    renderList();
  }).observe($("list"));
  for (const id of ["order", "state", "pair", "probability", "scope"]) {
    $(id).onpointerdown = () => (pointed = true);
    $(id).onchange = () => {
      if (pointed) $("list").focus({ preventScroll: true }); // the next keys decide
      inTurn(loadList);
    };
  }
  let typing;
  $("search").oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(() => inTurn(loadList), 250);
  };
  for (const [id, key] of [["keep", "r"], ["take", "s"], ["other", "c"], ["drop", "d"], ["unsure", "u"], ["undo", "z"], ["redo", "Z"], ["same", "n"]]) $(id).onclick = () => inTurn(commands[key]);
  $("list-button").onclick = () => toggle("list-button", "side");
  $("estimate-button").onclick = () => toggle("estimate-button", "estimate");
  $("help-button").onclick = () => $("help").showModal();
  $("name").onclick = () => askName(false);
  $("problem").querySelector("button").onclick = () => ($("problem").hidden = true);
  $("reaudit").onclick = () => inTurn(async () => { await ask("/api/reaudit", {}); await watchAudit(); });
  $("class-input").oninput = renderClasses;
  $("class-input").onkeydown = (event) => {
    const options = $("class-list").children;
    if (event.key === "ArrowDown") markActive(active + 1);
    else if (event.key === "ArrowUp") markActive(active - 1);
    else if (event.key === "Enter" && options.length) pick(Number(options[active].dataset.number));
    else return;
    event.preventDefault();
  };
  setInterval(() => document.hidden || inTurn(poll), POLL);
}

async function start() {
  about = await ask("/api/start");
  last = about.last;
  reviewer = sessionStorage.getItem("reviewer") ?? (about.shared ? "" : about.reviewer);
  document.title = `Review: ${about.title}`;
  $("title").textContent = about.title;
  $("name").textContent = reviewer;
  document.body.dataset.kind = about.kind;
  document.body.classList.toggle("tiny", about.tiny);
  about.reaudited = 0;
  $("keys").replaceChildren(...KEYS.map(([key, does]) => make("div", {}, make("dt", {}, make("kbd", { textContent: key })), make("dd", { textContent: does }))));
  fillPairs();
  listen();
  await Promise.all([loadList(), loadEstimate()]);
  $("list").focus({ preventScroll: true });
  if (!reviewer) await askName(true);
  await watchAudit();
}

start().catch(complain);
