// What the page knows from the start, and what it asks of its server, where it has one.

const page = JSON.parse(byElementId('data').textContent);
const served = !page.report && !page.corpus;
let key = '';

/** What the server answers; where it wants a key the reader is asked for it, and the call goes on. */
async function call(path, body = null, method = body ? 'POST' : 'GET') {
  const headers = body ? { 'Content-Type': 'application/json' } : {};
  if (key) headers.Authorization = `Bearer ${key}`;
  const answered = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  if (answered.status === 401) {
    const writes = method === 'DELETE' || path === 'decisions' && method === 'POST';
    await askKey(writes ? 'A decision needs the key to write.' : key ? 'This key is not the server’s.' : 'This server asks for its key.');
    return call(path, body, method);
  }
  const told = await answered.json();
  if (!answered.ok) throw new Error(told.message);
  return told;
}

let asking = null;

function askKey(told) {
  asking ??= new Promise((resolve) => {
    const dialog = byElementId('key-dialog');
    byElementId('key-told').textContent = told;
    dialog.querySelector('form').onsubmit = () => {
      key = byElementId('key').value;
      asking = null;
      resolve();
    };
    dialog.showModal();
  });
  return asking;
}

/** Say what is under way or went wrong. */
const say = (text) => { byElementId('told').textContent = text; };

/** Run what may fail, and say so. */
async function attempt(doing, act) {
  say(doing);
  try {
    const result = await act();
    say('');
    return result;
  } catch (error) {
    say(error.message);
    return null;
  }
}
