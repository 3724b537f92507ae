// Map and layers of a tree or of the corpus, with the selected node.

const HIGHLIGHT_COLORS = ['#b3261e', '#0b57d0', '#7b1fa2', '#00695c'];
let drawing = null;
const stopDrawing = () => { drawing = null; };

/** Columns of raptor_core/report/layout.py. */
class Atlas {
  constructor(values) {
    const bytes = (text) => {
      const raw = atob(text);
      const array = new Uint8Array(raw.length);
      for (let at = 0; at < raw.length; at += 1) array[at] = raw.charCodeAt(at);
      return array;
    };
    this.trees = values.trees;
    this.ids = bytes(values.id);
    this.layer = bytes(values.layer);
    this.n = this.layer.length;
    this.parent = new Int32Array(bytes(values.parent).buffer);
    this.tree = new Int32Array(bytes(values.tree).buffer);
    const places = new Uint16Array(bytes(values.place).buffer);
    this.x = Float32Array.from({ length: this.n }, (_, i) => places[2 * i] / 65535);
    this.y = Float32Array.from({ length: this.n }, (_, i) => places[2 * i + 1] / 65535);
    const bounds = (column) => { let [low, high] = [1, 0]; for (const at of column) { low = Math.min(low, at); high = Math.max(high, at); } return [low, high]; };
    const [[left, right], [top, bottom]] = [bounds(this.x), bounds(this.y)];
    Object.assign(this, { middle: [(left + right) / 2, (top + bottom) / 2], wide: Math.max(0.02, right - left), high: Math.max(0.02, bottom - top) });
    this.selected = -1;
    this.lit = new Map();
    this.nameAt = new Int32Array(this.n).fill(-1);
    this.names = values.names;
    let named = 0;
    for (let i = 0; i < this.n; i += 1) if (this.layer[i]) { this.nameAt[i] = named; named += 1; }
    this.measure();
  }

  /** Compute the number of leaves under each node, by first parents, and its horizontal start. */
  measure() {
    const { n } = this;
    this.size = new Float64Array(n);
    this.start = new Float64Array(n);
    this.kids = new Map();
    this.tops = new Int32Array(this.trees.length);
    const byLayer = Array.from({ length: n }, (_, i) => i).sort((a, b) => this.layer[a] - this.layer[b] || a - b);
    for (const i of byLayer) {
      this.size[i] = Math.max(this.size[i], 1);
      this.tops[this.tree[i]] = Math.max(this.tops[this.tree[i]], this.layer[i]);
      const above = this.parent[i];
      if (above < 0) continue;
      this.size[above] += this.size[i];
      if (!this.kids.has(above)) this.kids.set(above, []);
      this.kids.get(above).push(i);
    }
    let next = 0;
    const roots = byLayer.filter((i) => this.parent[i] < 0).sort((a, b) => this.tree[a] - this.tree[b] || a - b);
    const lay = (i, from) => {
      this.start[i] = from;
      let at = from;
      for (const child of this.children(i)) { lay(child, at); at += this.size[child]; }
    };
    for (const root of roots) { lay(root, next); next += this.size[root]; }
    this.total = Math.max(1, next);
    this.acrossOrder = byLayer.sort((a, b) => this.start[a] - this.start[b] || this.layer[b] - this.layer[a]);
    this.roots = roots;
  }

  children(i) { return this.kids.get(i) ?? []; }

  id(i) {
    const hex = Array.from(this.ids.subarray(16 * i, 16 * i + 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }

  indexOf(id) {
    this.places ??= new Map(Array.from({ length: this.n }, (_, i) => [this.id(i), i]));
    return this.places.get(id) ?? -1;
  }

  label(i) {
    if (this.nameAt[i] >= 0) return this.names[this.nameAt[i]];
    const known = nodes[idIndex.get(this.id(i))];
    if (known) return known.m ?? shorten(textOf(known), 70);
    return `chunk of ${this.parent[i] < 0 ? this.treeName(i) : this.label(this.parent[i])}`;
  }

  treeName(i) { return titleOf(this.trees[this.tree[i]]); }

  /** Return the cluster of each node at a layer: its ancestor there, or its root in a lower tree. */
  clusters(layer) {
    const owners = new Int32Array(this.n);
    for (let i = 0; i < this.n; i += 1) {
      let at = i;
      if (layer < 0) owners[i] = this.tree[i];
      else {
        while (this.layer[at] < layer && this.parent[at] >= 0) at = this.parent[at];
        owners[i] = at;
      }
    }
    return owners;
  }

  pathOf(i) {
    const path = [i];
    while (this.parent[path[0]] >= 0) path.unshift(this.parent[path[0]]);
    return path;
  }
}

/** Return the clusters as [{ at, text, members, x, y }], the largest first. */
function clusterList(atlas, layer) {
  const owner = atlas.clusters(layer);
  const membersOf = new Map();
  for (let i = 0; i < atlas.n; i += 1) {
    if (layer >= 0 && atlas.layer[i] > layer && atlas.children(i).length) continue;
    if (!membersOf.has(owner[i])) membersOf.set(owner[i], []);
    membersOf.get(owner[i]).push(i);
  }
  const list = [...membersOf].map(([at, members]) => {
    const middle = (column) => { const sorted = members.map((i) => column[i]).sort((a, b) => a - b); return sorted[Math.floor(sorted.length / 2)]; };
    return { at, members, text: layer < 0 ? titleOf(atlas.trees[at]) : atlas.label(at), x: middle(atlas.x), y: middle(atlas.y) };
  });
  return list.sort((a, b) => b.members.length - a.members.length || a.at - b.at);
}

/** Return the layer with nearest to a dozen clusters, or -1 (colour by tree) for many small trees. */
function usualLayer(atlas) {
  const counts = Array.from({ length: Math.max(...atlas.tops) }, (_, at) => [at + 1, clusterList(atlas, at + 1).length]);
  if (atlas.trees.length > 3) counts.push([-1, atlas.trees.length]);
  counts.sort((a, b) => Math.abs(Math.log(a[1] / 12)) - Math.abs(Math.log(b[1] / 12)));
  return counts[0]?.[0] ?? -1;
}

/** Return a colour [red, green, blue] for each cluster, far from that of the previous cluster. */
function clusterColors(list) {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  return new Map(list.map(({ at }, place) => {
    const hue = (218 + place * 137.508) % 360;
    return [at, rgb(hue, isDark ? 0.5 : 0.5, (isDark ? 0.66 : 0.44) + 0.05 * ((place % 3) - 1))];
  }));
}

function rgb(hue, saturation, light) {
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

async function atlasOf(tree) {
  if (!served) return report.atlas;
  const query = tree ? `?${new URLSearchParams({ tree })}` : '';
  return attempt('Computing the map …', () => call(`window/map${query}`));
}

const atlasCache = new Map();

async function showAtlas(root, tree, isIcicle) {
  const name = `${tree ?? ''}\0${tree && trees.length ? trees[openNumber()].build : ''}`;
  if (!atlasCache.has(name) || !tree) {
    root.replaceChildren();
    const values = await atlasOf(tree);
    if (!values) return;
    atlasCache.clear();
    atlasCache.set(name, new Atlas(values));
  }
  const atlas = atlasCache.get(name);
  const side = el('aside', { class: 'atlas-side', 'aria-label': 'Clusters and the selected node' });
  const chosenBox = el('div', { class: 'atlas-node', 'aria-live': 'polite' });
  const legend = el('div', { class: 'legend' });
  const pick = (i) => { atlas.selected = i; view.draw(); showChosen(chosenBox, atlas, i, pick, view); };
  const view = isIcicle ? new Icicle(atlas, pick) : new Plane(atlas, pick);
  drawing = view;
  highlightAtlas(atlas);
  const layers = Array.from({ length: atlas.n ? Math.max(...atlas.tops) : 0 }, (_, at) => at + 1);
  const choice = el('select', { id: 'color-layer' }, layers.map((layer) => el('option', { value: layer }, `Layer ${layer}`)),
    atlas.trees.length > 1 ? el('option', { value: -1 }, 'Tree') : null);
  choice.value = String(usualLayer(atlas));
  const paint = () => {
    const layer = Number(choice.value);
    const list = clusterList(atlas, layer);
    const colors = clusterColors(list);
    const owner = atlas.clusters(layer);
    const grey = matchMedia('(prefers-color-scheme: dark)').matches ? [150, 155, 165] : [105, 110, 120];
    view.paint((i) => colors.get(owner[i]) ?? grey, labelsOf(atlas, layer, list));
    legend.replaceChildren(...legendOf(list, colors, (cluster) => { if (layer >= 0) pick(cluster.at); view.flyTo(cluster.members); }));
  };
  choice.addEventListener('change', paint);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (drawing === view) paint(); });
  const button = (label, description, act) => el('button', { type: 'button', 'aria-label': description, onclick: act }, label);
  const scope = served && tree ? el('a', { href: isIcicle ? '#layers' : '#map' }, 'All trees') : null;
  const tools = el('div', { class: 'tools' }, el('label', {}, 'Colour by ', choice), scope,
    highlights.length ? el('span', { class: 'highlight-note' }, `Highlighted: “${shorten(highlights[0].question, 60)}”`, button('Clear', 'Clear the highlights', () => { highlights = []; chosen = []; highlightAtlas(atlas); follow(); })) : null,
    el('span', { class: 'zooms' }, button('+', 'Zoom in', () => view.zoomAt(1.5)), button('−', 'Zoom out', () => view.zoomAt(1 / 1.5)), button('All', 'Show all', () => view.all()),
      button('Save picture', 'Save the picture as PNG', () => savePicture(view))));
  side.replaceChildren(chosenBox, el('h3', {}, 'Clusters'), legend);
  root.replaceChildren(tools, el('div', { class: 'atlas' }, view.box, side));
  if (view.gl === null) {
    view.box.replaceChildren(el('p', { class: 'note' }, 'The map needs WebGL 2, which this browser lacks. The view “Layers” shows the same nodes without it.'));
    return;
  }
  paint();
  if (atlas.lit.size) view.flyTo([...atlas.lit.keys()]);
}

/** Highlight the nodes selected for the last question, with a colour for each strategy and the rank. */
function highlightAtlas(atlas) {
  atlas.lit = new Map();
  highlights.forEach(({ ids }, place) => ids.forEach((id, rank) => {
    const i = atlas.indexOf(id);
    if (i < 0) return;
    if (!atlas.lit.has(i)) atlas.lit.set(i, []);
    atlas.lit.get(i).push([HIGHLIGHT_COLORS[place % 4], rank + 1]);
  }));
}

/** Return the names of the clusters, and of lower clusters for larger zooms. */
function labelsOf(atlas, layer, list) {
  const short = (text) => shorten(text, 34);
  const labels = list.map((cluster) => ({ text: short(cluster.text), x: cluster.x, y: cluster.y, from: 0 }));
  if (layer < 0) return labels;
  for (let below = layer - 1, from = 3; below >= 1; below -= 1, from *= 3) {
    labels.push(...clusterList(atlas, below).map((cluster) => ({ text: short(cluster.text), x: cluster.x, y: cluster.y, from })));
  }
  return labels;
}

function legendOf(list, colors, choose) {
  const rows = el('ul', {});
  const row = (at) => {
    const swatch = el('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = `rgb(${colors.get(list[at].at).join(' ')})`;
    return el('li', {}, el('button', { type: 'button', onclick: () => choose(list[at]) }, swatch, el('span', { class: 'line' }, list[at].text), el('span', { class: 'meta' }, whole(list[at].members.length))));
  };
  return portioned(rows, list.length, row, 30);
}

/** Show the selected node: its path, its text, its spans. */
async function showChosen(root, atlas, i, pick, view) {
  const id = atlas.id(i);
  const crumbs = atlas.pathOf(i).slice(0, -1).map((at) => el('li', {}, el('button', { type: 'button', onclick: () => { pick(at); view.flyTo([at]); } }, shorten(atlas.label(at), 40))));
  const href = `#${new URLSearchParams(served ? { node: id, tree: atlas.trees[atlas.tree[i]].name } : { node: id })}`;
  const kind = atlas.layer[i] ? `Summary · layer ${atlas.layer[i]} · ${counted(atlas.children(i).length, 'child', 'children')}` : 'Chunk';
  const body = el('div', { class: 'prose' });
  const spans = el('div', { class: 'spans' });
  root.replaceChildren(el('p', { class: 'meta' }, atlas.treeName(i)), el('ol', { class: 'way' }, crumbs),
    el('h2', {}, shorten(atlas.label(i), 90)), el('p', { class: 'meta' }, kind), body, spans, el('p', {}, el('a', { href }, 'Open in the tree →')));
  const known = nodes[idIndex.get(id)];
  const text = known ? textOf(known) : (await attempt('', () => call(`nodes/${id}`)))?.text;
  if (atlas.selected !== i || text === undefined) return;
  body.textContent = shorten(text, 700);
  const leaves = known ? leavesUnder(known).slice(0, 4).map((leaf) => [placeOf(leaf), leaf.o, textOf(leaf)])
    : ((await attempt('', () => call(`nodes/${id}/spans?limit=4`)))?.spans ?? []).map((span) => [span.title || span.document, [span.start, span.end], span.text]);
  if (atlas.selected !== i) return;
  spans.replaceChildren(el('h3', {}, atlas.layer[i] ? 'Its first spans' : 'Its span'), ...leaves.map(([place, [from, to], words]) => el('blockquote', {},
    el('p', { class: 'meta' }, `${place}, characters ${whole(from)} to ${whole(to)}`), atlas.layer[i] ? shorten(words, 160) : null)));
}

function savePicture(view) {
  view.frame();
  const [first, second] = [view.canvas, view.marks];
  const sheet = el('canvas', {});
  Object.assign(sheet, { width: first.width, height: first.height });
  const pen = sheet.getContext('2d');
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, sheet.width, sheet.height);
  for (const canvas of [first, second]) if (canvas) pen.drawImage(canvas, 0, 0);
  sheet.toBlob((blob) => save('map.png', blob));
}
