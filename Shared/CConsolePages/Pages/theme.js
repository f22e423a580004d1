// Colors of the page as a canvas needs them: resolved, and again when light turns dark.

const names = ["text", "muted", "line", "plot", "x", "y", "z", "w", "magnitude", "gap", "mark", "accent"];
let colors = null;

/** The colors of now, by name. */
export function palette() {
  if (colors) return colors;
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  colors = {};
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    colors[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colors;
}

const order = ["x", "y", "z", "w", "magnitude", "accent"];

/** The name of the color of a field: that of its axis, or of its place in the group. */
export function colorName(field, index) {
  const axis = /(?:^|\.)([xyzw])$/.exec(field)?.[1];
  return axis ?? order[index % order.length];
}

const listeners = [];

/** Calls a function when the colors changed. */
export function onColors(listener) { listeners.push(listener); }

function changed() {
  colors = null;
  for (const listener of listeners) listener();
}

const choices = ["automatic", "light", "dark"];

/** The button that switches colors. */
export function setUpTheme(button) {
  let choice = remembered("colors", "automatic");
  const show = () => {
    if (choice === "automatic") delete document.documentElement.dataset.colors;
    else document.documentElement.dataset.colors = choice;
    button.textContent = `Colors: ${choice}`;
    changed();
  };
  button.addEventListener("click", () => {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length];
    remember("colors", choice);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  show();
}

/** What this browser remembers, as JSON; the default where it may not remember. */
export function remembered(key, otherwise) {
  try {
    const text = localStorage.getItem(`holdfast.${key}`);
    return text === null ? otherwise : JSON.parse(text);
  } catch { return otherwise; }
}

/** Remembers. */
export function remember(key, value) {
  try { localStorage.setItem(`holdfast.${key}`, JSON.stringify(value)); } catch { /* a browser without storage forgets */ }
}
