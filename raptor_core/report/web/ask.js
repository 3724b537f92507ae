// Questions to the corpus: the context of each strategy, as a model reads it, and the answer.

const STRATEGIES = ['hybrid', 'collapsed', 'collapsed-lexical', 'traversal', 'flat', 'lexical'];
let answers = [];
const DEFAULTS = { question: '', first: '', second: '', kind: 'auto', budget: '', trees: '', documents: '', layer: '' };
const KINDS = { auto: 'auto: by its words', detail: 'detail', general: 'general' };
const formValues = { ...DEFAULTS };
let searchedAddress = '';

/** Return the address of the form, without fields at their defaults. */
function askAddress() {
  const changed = Object.entries(formValues).filter(([name, value]) => value !== DEFAULTS[name]);
  return `#${new URLSearchParams([['ask', ''], ...changed])}`;
}

/** Take the fields from the address if it has any, and return whether; keep the form in it. */
function readAskAddress() {
  const params = new URLSearchParams(location.hash.slice(1));
  const named = Object.keys(DEFAULTS).some((name) => params.has(name));
  if (named) for (const [name, value] of Object.entries(DEFAULTS)) formValues[name] = params.get(name) ?? value;
  history.replaceState(null, '', askAddress());
  return named;
}

async function showAsk(root) {
  corpus ??= await attempt('', () => call('window/corpus'));
  const isNamed = readAskAddress();
  head(corpusName());
  const strategies = (first) => [el('option', { value: '' }, first), ...STRATEGIES.map((name) => el('option', { value: name }, name))];
  const field = (label, name, input) => {
    Object.assign(input, { id: `ask-${name}`, name });
    input.value = formValues[name];
    return el('label', {}, `${label} `, input);
  };
  const question = el('input', { id: 'ask-question', name: 'question', placeholder: 'A question, or words', required: true, maxlength: '10000', 'aria-label': 'Question' });
  question.value = formValues.question;
  const options = el('datalist', { id: 'tree-names' }, (corpus?.trees ?? []).map((row) => el('option', { value: row.name }, titleOf(row))));
  const form = el('form', { class: 'ask' }, question,
    el('button', { name: 'search', class: 'main' }, 'Search'), corpus?.no_reader ? null : el('button', { name: 'ask' }, 'Ask the model'),
    el('div', { class: 'fields' },
      field('Strategy', 'first', el('select', {}, strategies('default of the home'))),
      field('Compare with', 'second', el('select', {}, strategies('none'))),
      field('Kind', 'kind', el('select', {}, Object.entries(KINDS).map(([kind, label]) => el('option', { value: kind }, label)))),
      field('Tokens', 'budget', el('input', { type: 'number', min: '1', max: '1000000', placeholder: 'default' })),
      field('Tree', 'trees', el('input', { list: 'tree-names', placeholder: 'all' })),
      field('Document', 'documents', el('input', { placeholder: 'all' })),
      field('Layer', 'layer', el('input', { type: 'number', min: '0', max: '1000', placeholder: 'all' })), options),
    corpus?.no_reader ? el('p', { class: 'note' }, `No model is set up to answer: ${corpus.no_reader}.`) : null);
  form.addEventListener('input', ({ target }) => {
    formValues[target.name] = target.value;
    history.replaceState(null, '', askAddress());
  });
  const box = el('div', { class: 'answers' });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    askAll(box, event.submitter?.name === 'ask');
  });
  root.replaceChildren(form, box);
  question.focus();
  if (isNamed && formValues.question && searchedAddress !== askAddress()) await askAll(box, false);
  else showAnswers(box);
}

function questionBody(strategy) {
  const body = { question: formValues.question };
  if (strategy) body.strategy = strategy;
  body.kind = formValues.kind;
  if (formValues.budget) body.budget_tokens = Number(formValues.budget);
  if (formValues.trees) body.trees = [formValues.trees];
  if (formValues.documents) body.documents = [formValues.documents];
  if (formValues.layer !== '') body.layers = [Number(formValues.layer)];
  return body;
}

async function askAll(root, withAnswer) {
  const strategies = [formValues.first, ...(formValues.second ? [formValues.second] : [])];
  const address = askAddress();
  const written = strategies.map(() => el('p', { class: 'prose' }));
  root.replaceChildren(...(withAnswer ? written.map((text) => el('section', { class: 'answer', 'aria-busy': 'true' }, text)) : []));
  const responses = await attempt(withAnswer ? 'Reading …' : 'Searching …', () => Promise.all(strategies.map(
    async (strategy, at) => (withAnswer
      ? callStream('ask', questionBody(strategy), (text) => written[at].append(text))
      : { found: await call('search', questionBody(strategy)) }))));
  if (!responses) return;
  answers = responses;
  searchedAddress = address;
  say(responses.map(({ found }) => `${found.strategy}: ${counted(found.nodes.length, 'node')}${found.kind && `, taken as a ${found.kind} question`}`).join(' · '));
  const ranked = (found) => [...found.nodes].sort((a, b) => b.score - a.score).map((node) => node.id);
  highlights = responses.map(({ found }) => ({ question: formValues.question, strategy: found.strategy, ids: ranked(found) }));
  applyHighlights();
  showAnswers(root);
}

/** Return a link to the document of a hit or citation in its own place, if it has one. */
const original = ({ link }) => (link ? [' · ', originalLink(link)] : []);

function showAnswers(root) {
  if (!answers.length) return;
  const parts = [];
  answers.forEach(({ answer, citations, found }, at) => {
    if (!answer) return;
    const label = at ? `Answer by ${found.strategy}` : 'Answer';
    const show = (event, node) => { event.preventDefault(); const hit = byElementId(`hit-${at}-${node}`); hit?.scrollIntoView({ block: 'center' }); hit?.focus(); };
    parts.push(el('section', { class: 'answer', 'aria-label': label }, answers.length > 1 ? el('h2', {}, found.strategy) : null, el('p', { class: 'prose' }, answer),
      el('ol', {}, citations.map((cited) => el('li', {}, el('a', { href: `#ask&hit=${cited.node}`, title: `Node ${cited.node}`, onclick: (event) => show(event, cited.node) }, `[${cited.number}] ${cited.place}`), ...original(cited))))));
  });
  if (answers.some(({ found }) => found.nodes.length)) {
    parts.push(el('p', { class: 'tools' }, 'Highlighted: ', el('a', { href: '#map' }, 'in the map'), el('a', { href: '#layers' }, 'in the layers'),
      ...[...new Set(answers[0].found.nodes.map((node) => node.tree))].slice(0, 4).map((name) => el('a', { href: `#${new URLSearchParams({ tree: name })}`, title: name }, `in ${treeTitle(name)}`)), saveButton('context')));
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
      el('a', { href: `#${new URLSearchParams({ node: node.id, tree: node.tree })}`, title: `Node ${node.id} of ${node.tree}` }, placeOfFound(node)),
      inOthers.has(node.id) ? el('span', { class: 'both' }, 'in both') : null),
    scoreParts(node, best[0].score),
    el('p', { class: 'prose hit-text' }, node.text),
    el('p', { class: 'meta' }, [`${counted(node.n_tokens, 'token')}`, node.start === null ? counted(node.n_documents, 'document') : `${node.documents[0]}, characters ${whole(node.start)} to ${whole(node.end)}`].join(' · '), ...original(node)));
  return el('section', { 'aria-label': `Context by ${found.strategy}` },
    el('h2', {}, found.strategy), el('div', { class: 'track', 'aria-hidden': 'true' }, fill),
    el('p', { class: 'note' }, found.note || `${counted(found.nodes.length, 'node')}, ${whole(found.n_tokens)} of ${whole(found.budget_tokens)} tokens, in the order in which a model reads them`),
    found.kind || formValues.kind !== 'auto' ? el('p', { class: 'note' }, found.kind ? `${found.kind} question: it ${found.reason}` : `${found.strategy} has no use for the kind of the question`) : null,
    voteButtons(found.id), found.nodes.map(card));
}

/** Return buttons to vote on an answer, if the server keeps its question. */
function voteButtons(id) {
  if (!id) return null;
  const button = (vote, label) => el('button', { onclick: async () => { if (await attempt('Voting …', () => call('vote', { id, vote }))) say('Thank you for your vote.'); } }, label);
  return el('p', { class: 'tools' }, button('up', 'Good answer'), button('down', 'Bad answer'));
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
