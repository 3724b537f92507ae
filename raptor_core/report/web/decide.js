// Decisions of people, if a server accepts them; the next build applies them.

let decisions = null;
let why = '';
const DECIDED = {
  document: 'excluded the document', chunk: 'excluded the chunk', summary: 'corrected the summary', finding: 'marked a finding',
};

const readDecisions = async () => {
  decisions = served ? await attempt('', () => call('decisions')) : null;
  return decisions;
};

/** Record a decision or undo one; the server may require the writing key. */
async function decide(message, path, body, method) {
  const decision = await attempt(message, () => call(path, body, method));
  if (!decision) return null;
  await readDecisions();
  say('Recorded. The next build applies it; raptor plan shows the cost.');
  return decision;
}

/** Return a field for the reason; the page remembers it while it is open. */
function reasonField() {
  const input = el('input', { autocomplete: 'off', maxlength: '4096' });
  input.value = why;
  input.addEventListener('input', () => { why = input.value; });
  return el('div', { class: 'fields' }, el('label', {}, 'Why ', input));
}

/** Return a folded form; each of its buttons is [label, body to send]. */
function decideForm(title, fields, acts) {
  const form = el('form', { class: 'decide' }, fields, reasonField(),
    el('div', { class: 'actions' }, acts.map(([label]) => el('button', {}, label))));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const [, body] = acts.find(([label]) => label === event.submitter.textContent);
    decide('Recording …', 'decisions', { ...body(), why });
  });
  return el('details', {}, el('summary', {}, title), form);
}

/** Return the decisions that a node allows; null if no server accepts them. */
function decideSection(node) {
  if (!decisions?.can_decide) return null;
  if (isLeaf(node)) {
    return decideForm('Exclude this', [], [
      ['Exclude this chunk', () => ({ kind: 'chunk', subject: node.id })],
      ['Exclude the document', () => ({ kind: 'document', subject: documents[node.d].id })],
    ]);
  }
  const text = el('textarea', { rows: '6', 'aria-label': 'Text of the summary' });
  text.value = textOf(node);
  return decideForm('Correct this summary', [text], [
    ['Correct it', () => ({ kind: 'summary', subject: node.id, value: text.value })],
  ]);
}

/** Return a form to mark a finding of an audit as right or wrong. */
function markForm(finding) {
  if (!decisions?.can_decide || finding.judgement !== 'unsupported') return null;
  const body = (value) => () => ({ kind: 'finding', subject: nodes[finding.node].id, sentence: finding.sentence, value });
  return decideForm('Is this finding right?', [], [['Right', body('right')], ['Wrong', body('wrong')]]);
}

async function showDecisions(root) {
  await readDecisions();
  corpus ??= await attempt('', () => call('window/corpus'));
  if (!decisions) return;
  const list = el('ul', { class: 'replaced' });
  const hint = decisions.can_decide
    ? 'Open a node to decide about it.'
    : 'This server accepts no decisions: RAPTOR_WRITING_KEY is not set. Use raptor curate.';
  const row = (decision) => el('li', { class: decision.undone ? 'removed' : null },
    el('p', { title: decision.tree }, `${treeTitle(decision.tree)}: ${DECIDED[decision.kind]}${decision.kind === 'finding' ? ` as ${decision.value}` : ''}`),
    el('p', { class: 'prose' }, decision.about),
    decision.kind === 'summary' && decision.value !== decision.about ? el('p', { class: 'prose words' }, el('ins', {}, decision.value)) : null,
    el('p', { class: 'meta' }, `by ${decision.who}, ${time(decision.when)}${decision.why ? `: ${decision.why}` : ''}${decision.undone ? ` · undone ${decision.undone}` : ''}`),
    decision.undone || !decisions.can_decide ? null : undoForm(root, decision));
  const newest = [...decisions.decisions].reverse();
  root.replaceChildren(el('p', { class: 'note' }, newest.length ? hint : `No decisions yet. ${hint}`),
    ...portioned(list, newest.length, (at) => row(newest[at])));
}

function undoForm(root, decision) {
  const form = el('form', { class: 'decide' }, reasonField(), el('div', { class: 'actions' }, el('button', {}, 'Undo')));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const path = `decisions/${encodeURIComponent(decision.id)}?${new URLSearchParams({ why })}`;
    if (await decide('Undoing …', path, null, 'DELETE')) showDecisions(root);
  });
  return el('details', {}, el('summary', {}, 'Undo'), form);
}
