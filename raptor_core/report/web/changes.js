// Changes by the last rebuilds of a tree: words before and after, sizes, cost.

const MAX_WORDS = 1500;

function showChanges(root) {
  const tree = trees[openNumber()];
  const all = tree.rebuilds ?? [];
  const message = tree.change?.previous ? 'The texts of this rebuild were not kept.' : 'This is the first build of the tree. Its rebuilds will be listed here.';
  root.replaceChildren(...(all.length
    ? [el('div', { class: 'actions' }, saveButton('changes')), ...all.map(rebuildSection)]
    : [el('p', { class: 'note' }, message)]));
}

function rebuildSection(change, at) {
  const sizes = change.sizes_after.map((after, layer) => [layer ? `layer ${layer}` : 'chunks', change.sizes_before[layer] === undefined ? whole(after) : `${whole(change.sizes_before[layer])} → ${whole(after)}`]);
  const cost = (change.cost ?? []).filter(([, value]) => value !== 0).map(([name, value]) => [name.replace(/_usd$/, '').replaceAll('_', ' '), figure(name, value)]);
  const list = el('ul', { class: 'replaced' });
  const nChanged = change.n_added + change.n_removed;
  const hidden = change.replaced.length ? null : el('p', { class: 'note' }, nChanged ? 'Its texts are not known: the run that published it did not end, or its documents were removed.' : 'No node changed.');
  return section(`Rebuild of ${time(change.published)}`, `rebuild-${at}`,
    el('p', { class: 'note' }, `It replaced the tree published ${time(change.previous)}.`),
    figures([['new nodes', whole(change.n_added)], ['removed', whole(change.n_removed)], ...sizes, ...cost]), hidden,
    ...portioned(list, change.replaced.length, (place) => replacedCard(change.replaced[place]), 20));
}

function replacedCard(change) {
  const kind = change.before && change.after ? 'changed' : change.after ? 'new' : 'removed';
  const members = change.layer && kind === 'changed' ? `${change.n_before} → ${counted(change.n_after, 'child', 'children')}` : change.layer ? counted(change.n_after || change.n_before, 'child', 'children') : '';
  return el('li', { class: kind },
    el('p', { class: 'meta' }, el('span', { class: `badge layer-${Math.min(change.layer, 5)}` }, change.layer ? `L${change.layer}` : '¶'), ` ${[kind, members, shorten(change.documents.map((id) => documents.find((source) => source.id === id)?.title || id).join(', '), 80)].filter(Boolean).join(' · ')}`),
    el('p', { class: 'prose words' }, differing(change.before, change.after)));
}

/** Return a text with removed words struck out and new words marked. */
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

/** Return the lengths of the longest common subsequences of all suffixes of two lists. */
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
  const card = (change) => `### ${change.layer ? `Summary of layer ${change.layer}` : 'Chunk'}\n\nBefore: ${change.before || '–'}\n\nAfter: ${change.after || '–'}\n`;
  return tree.rebuilds.map((change) => `## ${change.previous} to ${change.published}\n\n${change.replaced.map(card).join('\n')}`).join('\n');
}
