// What the last rebuilds of a tree changed: words before and after, sizes, cost.

const MAX_WORDS = 1500;

function showChanges(root) {
  const tree = trees[openNumber()];
  const all = tree.rebuilds ?? [];
  const told = tree.change?.previous ? 'The words of this rebuild were not kept.' : 'This is the first build of the tree; its rebuilds will be told here.';
  root.replaceChildren(...(all.length
    ? [el('div', { class: 'actions' }, saveButton('changes')), ...all.map(rebuildSection)]
    : [el('p', { class: 'note' }, told)]));
}

function rebuildSection(one, at) {
  const sizes = one.sizes_after.map((after, layer) => [layer ? `layer ${layer}` : 'chunks', one.sizes_before[layer] === undefined ? whole(after) : `${whole(one.sizes_before[layer])} → ${whole(after)}`]);
  const cost = (one.cost ?? []).filter(([, value]) => value !== 0).map(([name, value]) => [name.replace(/_usd$/, '').replaceAll('_', ' '), figure(name, value)]);
  const list = el('ul', { class: 'replaced' });
  const left = one.n_added + one.n_removed;
  const hidden = one.replaced.length ? null : el('p', { class: 'note' }, left ? 'Its words are not known: the run that published it did not end, or its documents are gone.' : 'No node changed.');
  return section(`Rebuild of ${time(one.published)}`, `rebuild-${at}`,
    el('p', { class: 'note' }, `Before it: the tree published ${time(one.previous)}.`),
    figures([['new nodes', whole(one.n_added)], ['gone', whole(one.n_removed)], ...sizes, ...cost]), hidden,
    ...portioned(list, one.replaced.length, (place) => replacedCard(one.replaced[place]), 20));
}

function replacedCard(one) {
  const kind = one.before && one.after ? 'changed' : one.after ? 'new' : 'gone';
  const members = one.layer && kind === 'changed' ? `${one.n_before} → ${counted(one.n_after, 'child', 'children')}` : one.layer ? counted(one.n_after || one.n_before, 'child', 'children') : '';
  return el('li', { class: kind },
    el('p', { class: 'meta' }, el('span', { class: `badge layer-${Math.min(one.layer, 5)}` }, one.layer ? `L${one.layer}` : '¶'), ` ${[kind, members, shorten(one.documents.join(', '), 80)].filter(Boolean).join(' · ')}`),
    el('p', { class: 'prose words' }, differing(one.before, one.after)));
}

/** One text with the words that are gone struck out and the new ones marked. */
function differing(before, after) {
  const cut = (text) => text.match(/\S+\s*/gu) ?? [];
  const [old, now] = [cut(before), cut(after)];
  if (!old.length) return [el('ins', {}, after)];
  if (!now.length) return [el('del', {}, before)];
  if (old.length > MAX_WORDS || now.length > MAX_WORDS) return [el('del', {}, before), ' ', el('ins', {}, after)];
  const pieces = [];
  const add = (kind, text) => {
    if (pieces.at(-1)?.kind === kind) pieces.at(-1).text += text;
    else pieces.push({ kind, text });
  };
  const common = commonLengths(old, now);
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) { add('', now[j]); i += 1; j += 1; }
    else if (j >= now.length || (i < old.length && common[i + 1][j] >= common[i][j + 1])) { add('del', old[i]); i += 1; }
    else { add('ins', now[j]); j += 1; }
  }
  return pieces.map(({ kind, text }) => (kind ? el(kind, {}, text) : text));
}

/** Lengths of the longest common subsequences of all ends of two lists. */
function commonLengths(old, now) {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = old[i] === now[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

function changesMarkdown() {
  const tree = trees[openNumber()];
  const card = (one) => `### ${one.layer ? `Summary of layer ${one.layer}` : 'Chunk'}\n\nBefore: ${one.before || '–'}\n\nAfter: ${one.after || '–'}\n`;
  return tree.rebuilds.map((one) => `## ${one.previous} to ${one.published}\n\n${one.replaced.map(card).join('\n')}`).join('\n');
}
