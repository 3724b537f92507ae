// Data of the page: embedded in it, or requested from its server.

const page = JSON.parse(byElementId('data').textContent);
const served = !page.report && !page.corpus;
let key = '';

/** Send a request and return the answer; ask the reader for a key if the server requires one. */
async function call(path, body = null, method = body ? 'POST' : 'GET') {
  const headers = body ? { 'Content-Type': 'application/json' } : {};
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  if (response.status === 401) {
    const writes = method === 'DELETE' || path === 'decisions' && method === 'POST';
    await askKey(writes ? 'A decision needs the writing key.' : key ? 'The server refused this key.' : 'This server requires a key.');
    return call(path, body, method);
  }
  const values = await response.json();
  if (!response.ok) throw new Error(values.message);
  return values;
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
