// What people decide, where a server takes decisions: the next build honours them.

let decisions = null;
const author = { who: '', why: '' };
const DECIDED = {
  document: 'set aside the document', chunk: 'set aside the chunk', summary: 'corrected the summary', pin: 'pinned the summary', finding: 'marked a finding',
};

const readDecisions = async () => {
  decisions = served ? await attempt('', () => call('decisions')) : null;
  return decisions;
};

/** Record a decision, or take one back; the server asks for the key to write where it was not given. */
async function decided(doing, path, body, method) {
  const made = await attempt(doing, () => call(path, body, method));
  if (!made) return null;
  await readDecisions();
  say('Recorded. The next build honours it; raptor plan says what that costs.');
  return made;
}

/** Who decides, and why: asked once, and kept while the page is open. */
function authorFields() {
  const field = (name, label, wanted) => {
    const input = el('input', { autocomplete: name === 'who' ? 'name' : 'off', required: wanted, maxlength: '4096' });
    input.value = author[name];
    input.addEventListener('input', () => { author[name] = input.value; });
    return el('label', {}, `${label} `, input);
  };
  return el('div', { class: 'asked' }, field('who', 'Your name', true), field('why', 'Why', false));
}

/** A folded form whose buttons decide on one subject: [label, what to send]. */
function decideForm(title, fields, acts) {
  const form = el('form', { class: 'decide' }, fields, authorFields(),
    el('div', { class: 'actions' }, acts.map(([label]) => el('button', {}, label))));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const [, body] = acts.find(([label]) => label === event.submitter.textContent);
    decided('Recording …', 'decisions', { ...body(), ...author });
  });
  return el('details', {}, el('summary', {}, title), form);
}

/** What can be decided about a node; nothing where no server takes decisions. */
function decideSection(node) {
  if (!decisions?.can_decide) return null;
  if (isLeaf(node)) {
    return decideForm('Leave this out', [], [
      ['Set this chunk aside', () => ({ kind: 'chunk', subject: node.id })],
      ['Set the document aside', () => ({ kind: 'document', subject: documents[node.d].id })],
    ]);
  }
  const text = el('textarea', { rows: '6', 'aria-label': 'Text of the summary' });
  text.value = textOf(node);
  return decideForm('Correct or pin this summary', [text], [
    ['Correct it', () => ({ kind: 'summary', subject: node.id, value: text.value })],
    ['Pin it as it is', () => ({ kind: 'pin', subject: node.id })],
  ]);
}

/** Whether an audit was right about a sentence. */
function markForm(finding) {
  if (!decisions?.can_decide || finding.judgement !== 'unsupported') return null;
  const body = (value) => () => ({ kind: 'finding', subject: nodes[finding.node].id, sentence: finding.sentence, value });
  return decideForm('Is this finding right?', [], [['Right', body('right')], ['Wrong', body('wrong')]]);
}

async function showDecisions(root) {
  await readDecisions();
  if (!decisions) return;
  const list = el('ul', { class: 'replaced' });
  const told = decisions.can_decide
    ? 'A node’s page offers what can be decided about it.'
    : 'This server takes no decisions: RAPTOR_WRITING_KEY is not set. raptor curate does.';
  const row = (one) => el('li', { class: one.undone ? 'gone' : null },
    el('p', {}, `${one.tree}: ${DECIDED[one.kind]}${one.kind === 'finding' ? ` as ${one.value}` : ''}`),
    el('p', { class: 'prose' }, one.about),
    ['summary', 'pin'].includes(one.kind) && one.value !== one.about ? el('p', { class: 'prose words' }, el('ins', {}, one.value)) : null,
    el('p', { class: 'meta' }, `by ${one.who}, ${time(one.when)}${one.why ? `: ${one.why}` : ''}${one.undone ? ` · taken back ${one.undone}` : ''}`),
    one.undone || !decisions.can_decide ? null : undoForm(root, one));
  const newest = [...decisions.decisions].reverse();
  root.replaceChildren(el('p', { class: 'note' }, newest.length ? told : `Nothing was decided. ${told}`),
    ...portioned(list, newest.length, (at) => row(newest[at])));
}

function undoForm(root, one) {
  const form = el('form', { class: 'decide' }, authorFields(), el('div', { class: 'actions' }, el('button', {}, 'Take it back')));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const path = `decisions/${encodeURIComponent(one.id)}?${new URLSearchParams(author)}`;
    if (await decided('Taking it back …', path, null, 'DELETE')) showDecisions(root);
  });
  return el('details', {}, el('summary', {}, 'Take it back'), form);
}
