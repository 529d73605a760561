"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

/* Charts: drawn once, in colours that the style sheet decides; no evaluation of strings, no network. */
const options = { actions: false, renderer: "svg", ast: true, tooltip: { disableDefaultStyle: true } };
const drawn = Object.entries(data.charts).map(([name, chart]) =>
  vegaEmbed(document.getElementById(`chart-${name}`), chart, options)
);
Promise.all(drawn).then(() => document.documentElement.setAttribute("data-drawn", ""));

/* Theme: the system's, until the button is used. */
const theme = document.getElementById("theme");
const isDark = () => {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
});
theme.hidden = false;

/* Explorer: every number was computed in advance and is only put in its place here. */
const explorer = data.explorer;
if (explorer) {
  const target = document.getElementById("target");
  const confidence = document.getElementById("confidence");
  const put = (id, text) => { document.getElementById(id).textContent = text; };
  const show = () => {
    const [t, c] = [Number(target.value), Number(confidence.value)];
    put("target-shown", explorer.targets[t]);
    put("confidence-shown", explorer.confidences[c]);
    target.setAttribute("aria-valuetext", explorer.targets[t]);
    confidence.setAttribute("aria-valuetext", explorer.confidences[c]);
    put("alone-at", explorer.confidences[c]);
    put("divided-at", explorer.divided_confidences[c]);
    for (const column of ["alone", "divided"]) {
      const cell = explorer[column][c][t];
      for (const [name, text] of Object.entries(cell)) {
        if (name !== "share") put(`${column}-${name}`, text);
      }
      document.getElementById(`${column}-meter`).style.width = `${100 * cell.share}%`;
    }
    const own = t === explorer.own[1] && c === explorer.own[0];
    put("explored", own ? "This is the certificate itself." : "Not the certificate of this report.");
    document.getElementById("back").disabled = own;
  };
  target.addEventListener("input", show);
  confidence.addEventListener("input", show);
  document.getElementById("back").addEventListener("click", () => {
    [confidence.value, target.value] = explorer.own;
    show();
  });
  show();
}
