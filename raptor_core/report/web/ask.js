// Questions to the corpus: the context of each strategy, as a model reads it, and the answer.

const STRATEGIES = ['hybrid', 'collapsed', 'collapsed-lexical', 'traversal', 'beam', 'flat', 'lexical'];
let answers = [];
const formValues = { question: '', first: '', second: '', kind: '', budget: '', trees: '', documents: '', layers: '' };

async function showAsk(root) {
  corpus ??= await attempt('', () => call('window/corpus'));
  head(corpusName());
  const strategies = (first) => [el('option', { value: '' }, first), ...STRATEGIES.map((name) => el('option', { value: name }, name))];
  const field = (label, name, input) => {
    input.id = `ask-${name}`;
    input.value = formValues[name];
    input.addEventListener('input', () => { formValues[name] = input.value; });
    return el('label', {}, `${label} `, input);
  };
  const question = el('input', { id: 'ask-question', placeholder: 'A question, or words', required: true, maxlength: '10000', 'aria-label': 'Question' });
  question.value = formValues.question;
  question.addEventListener('input', () => { formValues.question = question.value; });
  const options = el('datalist', { id: 'tree-names' }, (corpus?.trees ?? []).filter((row) => !isPartition(row)).map((row) => el('option', { value: row.name }, titleOf(row))));
  const form = el('form', { class: 'ask' }, question,
    el('button', { name: 'search', class: 'main' }, 'Search'), el('button', { name: 'ask' }, 'Ask the model'),
    el('div', { class: 'fields' },
      field('Strategy', 'first', el('select', {}, strategies('default of the home'))),
      field('Compare with', 'second', el('select', {}, strategies('none'))),
      field('Kind', 'kind', el('select', {}, ['', 'detail', 'general'].map((kind) => el('option', { value: kind }, kind || 'by its words')))),
      field('Tokens', 'budget', el('input', { type: 'number', min: '1', max: '1000000', placeholder: 'default' })),
      field('Tree', 'trees', el('input', { list: 'tree-names', placeholder: 'all' })),
      field('Document', 'documents', el('input', { placeholder: 'all' })),
      field('Layer', 'layers', el('input', { type: 'number', min: '0', max: '1000', placeholder: 'all' })), options));
  const box = el('div', { class: 'answers' });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    askAll(box, event.submitter?.name === 'ask');
  });
  root.replaceChildren(form, box);
  showAnswers(box);
  question.focus();
}

function questionBody(strategy) {
  const body = { question: formValues.question };
  if (strategy) body.strategy = strategy;
  if (formValues.kind) body.kind = formValues.kind;
  if (formValues.budget) body.budget_tokens = Number(formValues.budget);
  if (formValues.trees) body.trees = [formValues.trees];
  if (formValues.documents) body.documents = [formValues.documents];
  if (formValues.layers !== '') body.layers = [Number(formValues.layers)];
  return body;
}

async function askAll(root, withAnswer) {
  const strategies = [formValues.first, ...(formValues.second ? [formValues.second] : [])];
  root.replaceChildren();
  const responses = await attempt(withAnswer ? 'Reading …' : 'Searching …', () => Promise.all(strategies.map(
    async (strategy) => (withAnswer ? call('ask', questionBody(strategy)) : { found: await call('search', questionBody(strategy)) }))));
  if (!responses) return;
  answers = responses;
  const ranked = (found) => [...found.nodes].sort((a, b) => b.score - a.score).map((node) => node.id);
  highlights = responses.map(({ found }) => ({ question: formValues.question, strategy: found.strategy, ids: ranked(found) }));
  applyHighlights();
  showAnswers(root);
}

function showAnswers(root) {
  if (!answers.length) return;
  const parts = [];
  answers.forEach(({ answer, citations, found }, at) => {
    if (!answer) return;
    const label = at ? `Answer by ${found.strategy}` : 'Answer';
    const show = (event, node) => { event.preventDefault(); const hit = byElementId(`hit-${at}-${node}`); hit?.scrollIntoView({ block: 'center' }); hit?.focus(); };
    parts.push(el('section', { class: 'answer', 'aria-label': label }, answers.length > 1 ? el('h2', {}, found.strategy) : null, el('p', { class: 'prose' }, answer),
      el('ol', {}, citations.map((cited) => el('li', {}, el('a', { href: `#ask&hit=${cited.node}`, onclick: (event) => show(event, cited.node) }, `[${cited.number}] ${cited.place}`))))));
  });
  if (answers.some(({ found }) => found.nodes.length)) {
    parts.push(el('p', { class: 'tools' }, 'Highlighted: ', el('a', { href: '#map' }, 'in the map'), el('a', { href: '#layers' }, 'in the layers'),
      ...[...new Set(answers[0].found.nodes.map((node) => node.tree))].slice(0, 4).map((name) => el('a', { href: `#${new URLSearchParams({ tree: name })}` }, `in ${name}`)), saveButton('context')));
  }
  parts.push(el('div', { class: `columns of-${answers.length}` }, answers.map(({ found }, at) => answerColumn(found, at))));
  root.replaceChildren(...parts);
}

function answerColumn(found, place) {
  const inOthers = new Set(answers.filter((_, at) => at !== place).flatMap((answer) => answer.found.nodes.map((node) => node.id)));
  const best = [...found.nodes].sort((a, b) => b.score - a.score);
  const fill = el('span', { class: 'fill' });
  fill.style.width = `${Math.min(100, 100 * found.n_tokens / found.budget_tokens)}%`;
  const card = (node) => el('article', { id: `hit-${place}-${node.id}`, tabindex: '-1' },
    el('p', { class: 'hit-head' }, el('span', { class: `lit-rank lit-${place}` }, best.indexOf(node) + 1),
      el('span', { class: `badge layer-${Math.min(node.layer, 5)}` }, node.layer ? `L${node.layer}` : '¶'),
      el('a', { href: `#${new URLSearchParams({ node: node.id, tree: node.tree })}` }, placeOfFound(node)),
      inOthers.has(node.id) ? el('span', { class: 'both' }, 'in both') : null),
    scoreParts(node, best[0].score),
    el('p', { class: 'prose hit-text' }, node.text),
    el('p', { class: 'meta' }, [`${counted(node.n_tokens, 'token')}`, node.start === null ? counted(node.n_documents, 'document') : `${node.documents[0]}, characters ${whole(node.start)} to ${whole(node.end)}`].join(' · ')));
  return el('section', { 'aria-label': `Context by ${found.strategy}` },
    el('h2', {}, found.strategy), el('div', { class: 'track', 'aria-hidden': 'true' }, fill),
    el('p', { class: 'note' }, found.note || `${counted(found.nodes.length, 'node')}, ${whole(found.n_tokens)} of ${whole(found.budget_tokens)} tokens, in the order in which a model reads them`),
    found.kind ? el('p', { class: 'note' }, `${found.kind} question: it ${found.reason}`) : null,
    found.nodes.map(card));
}

/** Return the score, and its parts if the strategy gives them. */
function scoreParts(node, best) {
  const parts = Object.entries(node.parts);
  const row = (name, value) => {
    const fill = el('span', { class: 'fill layer-1' });
    fill.style.width = `${Math.max(1, Math.min(100, 100 * Math.abs(value) / Math.max(Math.abs(best), 1e-9)))}%`;
    return el('div', {}, el('dt', {}, name.replaceAll('_', ' ')), el('dd', {}, el('span', { class: 'track', 'aria-hidden': 'true' }, fill), decimal(value, 3)));
  };
  return el('dl', { class: 'scores' }, row('score', node.score), parts.map(([name, value]) => row(name, value)));
}

const contextText = () => answers.map(({ found }) => found.nodes.map((node) => node.text).join('\n\n')).join('\n\n----\n\n');
