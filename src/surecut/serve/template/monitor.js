"use strict";
// Asks the service how its certificates stand, every two seconds while somebody is looking.

const EVERY = 2000;
const STREAMS = {
  claim: ["Claim", "evidence against the claim, from labelled queries"],
  agreement: ["Agreement", "evidence that agreement with the unpruned list is too low, from shadow reranking"],
  drift: ["Traffic", "evidence that the traffic has changed, from the retriever's scores"],
};
const LOOKS = { "believed": "good", "not believed": "bad" };
const HEADLINES = {
  "believed": "The certificate is still believed.",
  "in doubt": "The certificate is in doubt: something has changed.",
  "not believed": "The certificate is not believed any more.",
  "no evidence yet": "There is no evidence yet.",
};
const at = (id) => document.getElementById(id);
const show = (id, visible) => { at(id).hidden = !visible; };

async function ask(path) {
  const key = sessionStorage.getItem("key");
  const response = await fetch(path, { headers: key ? { "X-API-Key": key } : {}, cache: "no-store" });
  if (response.status === 401) {
    const refused = new Error("a key is needed");
    refused.needsKey = true;
    throw refused;
  }
  const answer = await response.json();
  if (response.status === 409) return null;
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function refresh() {
  if (document.hidden) return;
  try {
    const { certificates } = await ask("/v1/certificates");
    choose(certificates);
    const info = certificates.find((each) => each.name === at("choice").value);
    draw(info, await ask(`/v1/certificates/${encodeURIComponent(info.name)}/monitor`));
    show("key-form", false);
    show("trouble", false);
    at("updated").textContent = `as of ${new Date().toLocaleTimeString()}`;
  } catch (error) {
    show("standing", false);
    show("key-form", Boolean(error.needsKey));
    show("trouble", !error.needsKey);
    if (error.needsKey) at("key-wrong").textContent = sessionStorage.getItem("key") ? "That key does not open it." : "";
    at("trouble").textContent = `The service does not answer: ${error.message}`;
    at("updated").textContent = "";
  }
}

function choose(certificates) {
  const names = certificates.map((each) => each.name);
  const select = at("choice");
  if (names.join("\n") !== [...select.options].map((each) => each.value).join("\n")) {
    const chosen = select.value || location.hash.slice(1);
    select.replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)));
  }
  show("chooser", names.length > 1);
}

function draw(info, answer) {
  show("standing", answer !== null);
  show("unwatched", answer === null);
  if (answer === null) {
    at("unwatched").textContent = `${info.name} (${info.status}) is not monitored here. ${info.statement}`;
    return;
  }
  const { standing, history } = answer;
  at("belief").textContent = standing.belief;
  at("belief").className = `badge ${LOOKS[standing.belief] || "caution"}`;
  at("headline").textContent = HEADLINES[standing.belief];
  at("statement").textContent = standing.statement;
  items("reasons", standing.reasons);
  items("advice", standing.advice);
  show("what-to-do", standing.advice.length > 0);
  show("fallback", info.falls_back);
  show("problem", info.problem !== null);
  at("problem").textContent = `The file was changed, and is refused; the old one is in use. ${info.problem || ""}`;
  at("promise").textContent =
    `Evidence begins at 1. An alarm at ${standing.levels.ever} is false at most once in ${standing.levels.ever}, ever, ` +
    `for each row; one at ${standing.levels.recent} of recent evidence takes at least ` +
    `${standing.levels.recent} queries on average where nothing is wrong.`;
  at("collected").textContent =
    `Period ${standing.period}. ${standing.complete.toLocaleString()} complete queries have come in; the next look of ` +
    `a recalibration is at ${standing.next_look.toLocaleString()}.`;
  at("rows").replaceChildren(...Object.entries(STREAMS).map(([name, [title]]) => row(title, standing[name])));
  at("charts").replaceChildren(
    ...Object.entries(STREAMS)
      .filter(([name]) => standing[name].ever !== null)
      .map(([name, words]) => chart(words, history[name], standing.levels, standing[name])));
}

function items(id, sentences) {
  at(id).replaceChildren(...sentences.map((sentence) => {
    const item = document.createElement("li");
    item.textContent = sentence[0].toUpperCase() + sentence.slice(1) + ".";
    return item;
  }));
}

function row(title, stream) {
  const alarms = Object.entries(stream.alarms).map(([kind, count]) => `${kind}: after ${count.toLocaleString()}`);
  const cells = [stream.count.toLocaleString(), stream.words, number(stream.ever), number(stream.recent), alarms.join(", ")];
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = title;
  line.append(head, ...cells.map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text || "none";
    return cell;
  }));
  return line;
}

function number(value) {
  if (value === null) return "none";
  return value >= 1e5 || value < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

// A line of evidence on a logarithmic scale, with the alarm's level across it.
function chart([title, meaning], points, levels, stream) {
  const wide = 360, high = 170, left = 44, bottom = 24, top = 10;
  const ten = (log) => log / Math.LN10;
  const logs = points.flatMap((each) => [each.ever, each.recent]).filter((each) => each !== null).map(ten);
  const highest = Math.max(Math.log10(levels.ever) + .3, ...logs.map((each) => Math.min(each, 40)));
  const lowest = Math.max(-4, Math.min(-.3, ...logs));
  const last = Math.max(1, ...points.map((each) => each.count));
  const x = (count) => left + (wide - left - 8) * count / last;
  const y = (log) => top + (high - top - bottom) * (highest - Math.min(Math.max(log, lowest), highest)) / (highest - lowest);
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = title;
  const svg = element("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img" });
  svg.setAttribute("aria-label",
    `${meaning}: ${number(stream.ever)} after ${stream.count} queries; an alarm is at ${levels.ever}`);
  for (let power = Math.ceil(lowest); power <= highest; power += Math.max(1, Math.round((highest - lowest) / 5))) {
    svg.append(element("line", { class: "axis", x1: left, x2: wide - 8, y1: y(power), y2: y(power) }));
    svg.append(label(left - 6, y(power) + 4, "end", power === 0 ? "1" : power < 4 && power > -3 ? String(10 ** power) : `1e${power}`));
  }
  svg.append(element("line", { class: "alarm", x1: left, x2: wide - 8, y1: y(Math.log10(levels.ever)), y2: y(Math.log10(levels.ever)) }));
  if (stream.recent !== null && Math.log10(levels.recent) < highest) {
    const level = y(Math.log10(levels.recent));
    svg.append(element("line", { class: "alarm alarm-recent", x1: left, x2: wide - 8, y1: level, y2: level }));
  }
  svg.append(label(left, high - 6, "start", "0"), label(wide - 8, high - 6, "end", `${last.toLocaleString()} queries`));
  const shown = stream.recent === null ? ["ever"] : ["recent", "ever"];
  for (const kind of shown) {
    const path = [{ count: 0, [kind]: 0 }, ...points].map((each) => `${x(each.count).toFixed(1)},${y(ten(each[kind])).toFixed(1)}`);
    svg.append(element("polyline", { class: kind, points: path.join(" ") }));
  }
  const legend = document.createElement("div");
  legend.className = "caption";
  for (const kind of [...shown].reverse()) {
    const mark = document.createElement("span");
    mark.className = `mark mark-${kind}`;
    legend.append(mark, kind === "ever" ? "evidence" : "recent evidence");
  }
  figure.append(caption, svg, legend);
  return figure;
}

function element(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function label(x, y, anchor, text) {
  const made = element("text", { class: "tick", x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", at("key").value);
  refresh();
});
at("choice").addEventListener("change", () => { location.hash = at("choice").value; refresh(); });
document.addEventListener("visibilitychange", refresh);
refresh();
setInterval(refresh, EVERY);
