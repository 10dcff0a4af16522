// The requests of the page: /v1 of the server that sent it. Addresses are relative, so that it may be mounted anywhere.

let key = sessionStorage.getItem("regard key") ?? "";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function useKey(text) {
  key = text;
  sessionStorage.setItem("regard key", text);
}

export async function models() {
  return (await asked("v1/models")).json();
}

// request: { model, text or file, target, prefix_ids, silence, uniform, hide, beams, n_best } → the record of a trace
export async function trace(request, signal) {
  if (!request.file) return (await asked("v1/trace", request, signal)).json();
  return (await (await asked("v1/caption", form({ ...request, trace: true }), signal)).json()).trace;
}

export async function tree(request, signal) {
  if (!request.file) return (await asked("v1/tree", request, signal)).json();
  return (await (await asked("v1/caption", form({ ...request, tree: true }), signal)).json()).tree;
}

// Calls grown(output) with the output after each token.
export async function stream(request, grown, signal) {
  const answer = await asked("v1/translate", { ...request, stream: true }, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const [, kind, data] = event.match(/^event: (\w+)\ndata: (.*)$/s) ?? [];
      if (kind === "error") throw new Refused(0, JSON.parse(data).error);
      if (kind === "token") grown(JSON.parse(data));
    }
  }
}

// A list is a field that is sent several times.
function form(fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) body.append(name, one);
  return body;
}

async function asked(path, body, signal) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const options = { headers, signal };
  if (body !== undefined) {
    options.method = "POST";
    options.body = body instanceof FormData ? body : JSON.stringify(body);
    if (!(body instanceof FormData)) headers["Content-Type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "the server does not answer");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, problem.error ?? answer.statusText);
}
