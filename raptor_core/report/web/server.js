// Data of the page: embedded in it, or requested from its server.

const page = JSON.parse(byElementId('data').textContent);
const served = !page.report && !page.corpus;
let key = '';

/** Send a request and return the response; ask for a key if the server requires one. */
async function send(path, body, method) {
  const headers = body ? { 'Content-Type': 'application/json' } : {};
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  if (response.status === 401) {
    const writes = method === 'DELETE' || path === 'decisions' && method === 'POST';
    await askKey(writes ? 'A decision needs the writing key.' : key ? 'The server refused this key.' : 'This server requires a key.');
    return send(path, body, method);
  }
  if (!response.ok) throw new Error((await response.json()).message);
  return response;
}

/** Send a request and return the values of the response. */
const call = async (path, body = null, method = body ? 'POST' : 'GET') => (await send(path, body, method)).json();

/** Ask for a streamed answer: show each piece of its text, and return the whole answer. */
async function callStream(path, body, show) {
  const response = await send(path, { ...body, stream: true }, 'POST');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const { done, value } = await reader.read();
    if (done) throw new Error('The answer broke off.');
    const events = `${rest}${value}`.split('\n\n');
    rest = events.pop();
    for (const [, name, data] of events.map((event) => event.match(/^event: (\w+)\ndata: (.*)$/))) {
      const values = JSON.parse(data);
      if (name === 'error') throw new Error(values.message);
      if (name === 'answer') return values;
      show(values.text);
    }
  }
}

let keyRequest = null;

function askKey(message) {
  keyRequest ??= new Promise((resolve) => {
    const dialog = byElementId('key-dialog');
    byElementId('key-message').textContent = message;
    dialog.querySelector('form').onsubmit = () => {
      key = byElementId('key').value;
      keyRequest = null;
      resolve();
    };
    dialog.showModal();
  });
  return keyRequest;
}

/** Show a message in the status line. */
const say = (text) => { byElementId('message').textContent = text; };

/** Run an action; show its message meanwhile, and its error if it fails. */
async function attempt(message, act) {
  say(message);
  try {
    const result = await act();
    say('');
    return result;
  } catch (error) {
    say(error.message);
    return null;
  }
}
