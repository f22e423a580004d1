// Builds the page. Text only ever becomes text: nothing here reads markup, so that a device's name cannot be a script.

/** Makes an element: `make("button", { type: "button", onclick: stop }, "Stop")`. Null and false children are left out. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.startsWith("aria") && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(String(child));
  }
}

/** Replaces what an element contains. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/** Sets a text if it differs, so that a screen reader is not told the same again and the layout stays. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A button. */
export function button(text, onclick, properties = {}) {
  return make("button", { type: "button", onclick, ...properties }, text);
}

/** A labelled input. */
export function field(label, input, hint) {
  const text = make("span", { class: "label" }, label);
  return make("label", { class: "field" }, text, input, hint && make("span", { class: "hint" }, hint));
}

/** A list of terms and values; a pair without a value is left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl", { class: "facts" }, shown.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value))));
}

/** A table that scrolls in itself if the screen is too narrow. A column without any entry is left out. */
export function table(caption, allHeads, allRows) {
  const kept = allHeads.map((_, index) => index).filter((index) => allRows.length === 0 || allRows.some((row) => row[index] !== "" && row[index] !== null && row[index] !== undefined));
  const heads = kept.map((index) => allHeads[index]), rows = allRows.map((row) => kept.map((index) => row[index]));
  return make("div", { class: "scroller", tabIndex: 0, role: "region", "aria-label": caption },
    make("table", {},
      make("caption", { class: "unseen" }, caption),
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell)))))));
}

/** Says something to everybody for some seconds. An error stays until it is closed. */
export function say(text, isError = false) {
  const message = make("div", { class: isError ? "message error" : "message", role: isError ? "alert" : undefined }, make("span", {}, text));
  message.append(button("×", () => message.remove(), { "aria-label": "Close this message", class: "quiet" }));
  const messages = document.getElementById("messages");
  messages.append(message);
  // The bound: what nobody closes is pushed out by the newest.
  while (messages.childElementCount > 4) messages.firstElementChild.remove();
  if (!isError) setTimeout(() => message.remove(), 6000);
}

/** Says something to screen readers alone. */
export function announce(text) {
  document.getElementById("announcements").textContent = text;
}

/** Shows something in a dialog until it is closed. */
export function tell(title, ...children) {
  const dialog = make("dialog", { "aria-labelledby": "dialog-title" }, make("h2", { id: "dialog-title" }, title), ...children);
  const end = () => { dialog.close(); dialog.remove(); };
  dialog.append(make("div", { class: "buttons" }, button("Close", end, { autofocus: true })));
  dialog.addEventListener("cancel", (event) => { event.preventDefault(); end(); });
  document.body.append(dialog);
  dialog.showModal();
}

/** Asks a question in a dialog; the answer is whether it was confirmed. */
export function confirm(title, text, yes) {
  return new Promise((resolve) => {
    const dialog = make("dialog", { "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" },
      make("h2", { id: "dialog-title" }, title), make("p", { id: "dialog-text" }, text));
    const end = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
    dialog.append(make("div", { class: "buttons" },
      button("Keep it", () => end(false), { autofocus: true }), button(yes, () => end(true), { class: "danger" })));
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); end(false); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
