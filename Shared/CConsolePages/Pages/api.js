// What the console's server is asked. Every failure becomes an `ApiError` with a sentence for people.

/** A refusal, or a failure to ask. */
export class ApiError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Gets JSON. */
export function get(path, signal) {
  return ask(path, { signal, headers: { Accept: "application/json" } });
}

/** Posts JSON. */
export function post(path, body = {}) {
  return ask(path, { method: "POST", body: JSON.stringify(body), headers: { "X-Holdfast": "1", "Content-Type": "application/json" } });
}

/** Asks the program that answers a method of the bus. */
export function call(method, parameters = {}) {
  return post(`/api/call/${method}`, parameters);
}

/** A query of the parameters that have a value. */
export function query(parameters) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : "";
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The console cannot be reached. Is it running? The page retries automatically.");
  }
  let body = null;
  try { body = await response.json(); } catch { /* said by the status */ }
  if (response.ok) return body;
  const said = body?.error?.message;
  const known = {
    401: "Open the link that the console printed when it started: this browser has no valid token.",
    403: `This is not allowed${said ? `: ${said}` : ""}.`,
  };
  throw new ApiError(response.status, known[response.status] ?? (said ? `${said}.` : `The console answered with status ${response.status}.`), body?.error?.code);
}
