// Findings of audits: the list, and a finding with its evidence and a link to its source.

const SYMBOLS = { unsupported: '▲', 'not judged': '?', supported: '✓' };
const LABELS = { unsupported: 'Unsupported', 'not judged': 'Not judged', supported: 'Supported' };
const kindName = (finding) => finding.judgement.replace(' ', '-');

/** Return symbol and word of a judgement; colour is never the only sign. */
function verdict(finding) {
  return el('span', { class: `verdict ${kindName(finding)}` },
    el('span', { 'aria-hidden': 'true' }, `${SYMBOLS[finding.judgement]} `), LABELS[finding.judgement]);
}

const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Return the leaf under a node that contains a passage, or else shares most of its words. */
function nearestLeaf(node, passage) {
  const leaves = leavesUnder(node);
  const exact = leaves.find((leaf) => locate(textOf(leaf), passage, ''));
  if (exact || leaves.length < 2) return { leaf: exact ?? leaves[0], exact: Boolean(exact) };
  const passageWords = new Set(words(passage));
  const share = (leaf) => new Set(words(textOf(leaf)).filter((word) => passageWords.has(word))).size;
  let best = { leaf: leaves[0], nShared: -1 };
  for (const leaf of leaves) {
    const nShared = share(leaf);
    if (nShared > best.nShared) best = { leaf, nShared };
  }
  return { leaf: best.leaf, exact: false };
}

/** Return a finding with its reason and links to its evidence. */
function findingCard(finding) {
  const parts = [
    el('p', { class: 'finding-head' }, verdict(finding),
      finding.judgement === 'not judged' ? null : el('span', { class: 'score' }, `support ${decimal(finding.score)}`)),
    el('blockquote', {}, finding.sentence),
  ];
  if (finding.missing.length) {
    const chips = finding.missing.map((term) => el('li', {}, term));
    parts.push(el('div', { class: 'missing-line' }, 'Not in the children: ', el('ul', { class: 'chips' }, chips)));
  }
  if (finding.reason) parts.push(el('p', { class: 'reason' }, finding.reason));
  if (finding.child >= 0) parts.push(evidence(finding));
  parts.push(markForm(finding));
  return el('li', { class: `finding ${kindName(finding)}`, id: `finding-${finding.index}`, tabindex: '-1' }, parts.filter(Boolean));
}

function evidence(finding) {
  const child = nodes[finding.child];
  const passage = finding.passage || textOf(child);
  const source = nearestLeaf(child, passage);
  const more = { passage: finding.index };
  const links = [];
  if (!isLeaf(child)) links.push(el('a', { href: address(child, more) }, `Open the evidence in layer ${child.l}`));
  if (source.leaf) {
    const label = source.exact || isLeaf(child) ? 'Open its span' : 'Open the nearest span';
    links.push(el('a', { class: 'follow', href: address(source.leaf, more) }, label));
  }
  return el('div', { class: 'evidence' },
    el('p', { class: 'label' }, `Nearest evidence, in a child ${isLeaf(child) ? 'chunk' : `of layer ${child.l}`}`),
    finding.passage ? el('blockquote', {}, shorten(finding.passage, 600)) : null,
    el('p', { class: 'links' }, links));
}

/** Return the findings of a node; supported sentences are folded. */
function findingsSection(node) {
  const all = findingsOf.get(node.index) ?? [];
  if (!all.length) return null;
  const doubts = all.filter((finding) => finding.judgement !== 'supported');
  const rest = all.filter((finding) => finding.judgement === 'supported');
  const parts = [];
  if (doubts.length) parts.push(el('ul', { class: 'findings' }, doubts.map(findingCard)));
  if (rest.length) {
    parts.push(el('details', {}, el('summary', {}, counted(rest.length, 'supported sentence')),
      el('ul', { class: 'findings' }, rest.map(findingCard))));
  }
  return section(`Audit of ${counted(all.length, 'sentence')}`, 'audit', parts);
}

/** List of all findings, worst first, with a switch for each judgement. */
class FindingsView {
  constructor(panel) {
    this.panel = panel;
    this.chosen = new Set(['unsupported', 'not judged']);
  }

  show() {
    this.counts = Object.fromEntries(Object.keys(LABELS).map((kind) => [kind, 0]));
    for (const finding of findings) this.counts[finding.judgement] += 1;
    byElementId('n-findings').textContent = this.counts.unsupported ? whole(this.counts.unsupported) : '';
    if (!report.findings) {
      this.panel.replaceChildren(el('p', { class: 'note' }, 'No audit of this tree is known.'));
      return;
    }
    const order = ['unsupported', 'not judged', 'supported'];
    const rank = (finding) => order.indexOf(finding.judgement) * 2 + finding.score;
    const shown = findings.filter((f) => this.chosen.has(f.judgement)).sort((a, b) => rank(a) - rank(b));
    const list = el('ul', { class: 'links-list' });
    const rows = portioned(list, shown.length, (at) => this.row(shown[at]));
    this.panel.replaceChildren(this.switches(), ...(shown.length ? rows : [this.nothing()]));
  }

  nothing() {
    const message = findings.length ? 'No finding of this kind.' : 'No sentence of this tree was audited.';
    return el('p', { class: 'note' }, message);
  }

  switches() {
    const button = (kind) => el('button', {
      type: 'button', class: `switch ${kind.replace(' ', '-')}`, 'aria-pressed': String(this.chosen.has(kind)),
      onclick: () => {
        if (!this.chosen.delete(kind)) this.chosen.add(kind);
        this.show();
        this.panel.querySelector(`.switch.${kind.replace(' ', '-')}`).focus();
      },
    }, `${SYMBOLS[kind]} ${LABELS[kind]} ${whole(this.counts[kind])}`);
    return el('div', { class: 'switches', role: 'group', 'aria-label': 'Findings shown' }, Object.keys(LABELS).map(button));
  }

  row(finding) {
    const node = nodes[finding.node];
    return el('li', {}, el('a', { href: address(node, { finding: finding.index }) },
      el('span', { class: 'meta' }, verdict(finding), ` · layer ${node.l}`),
      el('span', { class: 'line' }, shorten(finding.sentence, 200)),
      finding.missing.length ? el('span', { class: 'meta' }, `not in the children: ${shorten(finding.missing.join(', '), 90)}`) : null));
  }
}
