// Sheet of a manual study: a verdict and a note for each sentence, saved as CSV.

const sheet = JSON.parse(byElementId('data').textContent);
const claims = sheet.nodes.flatMap((node) => (
  node.sentences.map((sentence, at) => ({ node, sentence, number: at + 1, verdict: '', note: '' }))));
const storageKey = `raptor-sheet-${sheet.id}`;

/** Restore the verdicts from the browser's storage; some browsers have none for files. */
function recall() {
  try {
    const entries = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    entries.forEach(([verdict, note], at) => Object.assign(claims[at], { verdict, note }));
  } catch { return; }
}

function keep() {
  try {
    localStorage.setItem(storageKey, JSON.stringify(claims.map(({ verdict, note }) => [verdict, note])));
  } catch { return; }
}

function showProgress() {
  const done = claims.filter((claim) => claim.verdict).length;
  byElementId('progress').textContent = `${whole(done)} of ${counted(claims.length, 'sentence')} judged.`;
}

function judge(claim, verdict) {
  claim.verdict = verdict;
  claim.field.classList.add('done');
  claim.field.querySelector(`input[value="${verdict}"]`).checked = true;
  keep();
  showProgress();
}

function field(claim, at) {
  const choice = (verdict, place) => el('label', {},
    el('input', {
      type: 'radio', name: `claim-${at}`, value: verdict, checked: claim.verdict === verdict,
      onchange: () => judge(claim, verdict),
    }), ` ${place + 1} ${verdict}`);
  const note = el('input', {
    class: 'note', placeholder: 'Note', 'aria-label': `Note on sentence ${claim.number}`,
    oninput: () => { claim.note = note.value; keep(); },
  });
  note.value = claim.note;
  claim.field = el('fieldset', { tabindex: '-1', class: claim.verdict ? 'done' : '' },
    el('legend', {}, `Sentence ${claim.number}`),
    el('p', { class: 'sentence' }, claim.sentence), sheet.verdicts.map(choice), note);
  claim.field.addEventListener('keydown', (event) => press(event, claim, at, note));
  return claim.field;
}

function press(event, claim, at, note) {
  if (event.target === note || event.ctrlKey || event.metaKey || event.altKey) return;
  const verdict = sheet.verdicts[Number(event.key) - 1];
  if (verdict) {
    judge(claim, verdict);
    const next = claims[at + 1];
    if (next) next.field.querySelector('input').focus();
    else byElementId('save').focus();
  } else if (event.key === 'n') note.focus();
  else return;
  event.preventDefault();
}

function saveSheet() {
  const values = ({ node, number, sentence, verdict, note }) => (
    { tree: node.tree, layer: node.layer, node: node.id, number, sentence, verdict, note });
  const rows = claims.map(values).map((row) => sheet.columns.map((name) => row[name]));
  save(sheet.file, csv([sheet.columns, ...rows]));
}

function show() {
  let at = 0;
  const sections = sheet.nodes.map((node, place) => el('section', { 'aria-labelledby': `node-${place}` },
    el('h2', { id: `node-${place}` }, `${place + 1} of ${sheet.nodes.length} · ${node.tree} · layer ${node.layer}`),
    el('div', { role: 'group', 'aria-label': 'Sentences' }, node.sentences.map(() => field(claims[at], at++))),
    el('div', { role: 'group', 'aria-label': 'Children' }, node.children.map((child) => el('p', { class: 'child' }, child.text)))));
  byElementId('sheet').replaceChildren(...sections);
}

recall();
show();
showProgress();
byElementId('save').addEventListener('click', saveSheet);
addEventListener('keydown', (event) => {
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (plain && event.key === 's' && !event.target.classList?.contains('note')) saveSheet();
});
document.querySelector('fieldset input')?.focus();
