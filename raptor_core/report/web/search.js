// Search for words in the texts of all nodes, without case.

const PAUSE_MS = 120;

/** Return an expression for each word of a query. */
function expressions(query) {
  return query.trim().split(/\s+/).filter(Boolean).map((word) => new RegExp(escaped(word), 'giu'));
}

/**
 * Return the nodes that contain every word, or else most words: first those with the exact phrase,
 * then from the top layer down.
 */
function search(query) {
  const sought = expressions(query);
  const phrase = new RegExp(query.trim().split(/\s+/).map(escaped).join('\\s+'), 'iu');
  let most = 1;
  let hits = [];
  for (const node of nodes) {
    const text = textOf(node);
    const count = sought.filter((word) => text.search(word) >= 0).length;
    if (count < most) continue;
    if (count > most) hits = [];
    most = count;
    hits.push({ node, whole: count === sought.length && phrase.test(text) });
  }
  hits.sort((a, b) => b.whole - a.whole || b.node.l - a.node.l || a.node.index - b.node.index);
  return { found: hits.map((hit) => hit.node), most, all: most === sought.length };
}

/** Return the part of a text around its first match, with all matches marked. */
function excerpt(text, sought) {
  const first = Math.min(...sought.map((word) => text.search(word)).filter((at) => at >= 0));
  const from = first < 80 ? 0 : text.lastIndexOf(' ', first - 60) + 1;
  const until = text.length > from + 220 ? text.lastIndexOf(' ', from + 220) : text.length;
  const part = text.slice(from, until > from ? until : from + 220).replace(/\s+/g, ' ');
  const pieces = marked(part, places(part, sought, 'match'));
  if (from > 0) pieces.prepend('… ');
  if (from + 220 < text.length) pieces.append(' …');
  return pieces;
}

class SearchView {
  constructor(input, panel, status, browser) {
    Object.assign(this, { input, panel, status, browser });
    input.addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.run(), PAUSE_MS);
    });
    input.addEventListener('keydown', (event) => this.typed(event));
    panel.addEventListener('keydown', (event) => this.walked(event));
  }

  get words() {
    return expressions(this.input.value);
  }

  run() {
    const query = this.input.value.trim();
    this.panel.hidden = !query;
    this.browser.hidden = Boolean(query);
    this.panel.replaceChildren();
    this.status.textContent = '';
    this.found = [];
    if (!query) return;
    const { found, most, all } = search(query);
    const sought = expressions(query);
    const list = el('ol', { class: 'links-list' });
    const some = `No node contains all ${sought.length} words; ${whole(found.length)} ${found.length === 1 ? 'contains' : 'contain'} ${most}`;
    const summary = all ? `${counted(found.length, 'node')} found` : some;
    this.found = found;
    this.status.textContent = found.length ? summary : 'Nothing found';
    this.panel.append(...portioned(list, found.length, (at) => this.row(found[at], sought)));
    if (found.length) this.panel.append(saveButton('search'));
    this.panel.scrollTop = 0;
  }

  row(node, sought) {
    const place = isLeaf(node) ? placeOf(node) : counted(node.c.length, 'child', 'children');
    const where = trees.length > 1 ? `${titleOf(trees[node.t])} · ${place}` : place;
    return el('li', {}, el('a', { href: address(node) },
      el('span', { class: 'meta' },
        el('span', { class: `badge layer-${Math.min(node.l, 5)}` }, isLeaf(node) ? '¶' : `L${node.l}`), ` ${where}`),
      el('span', { class: 'line' }, excerpt(textOf(node), sought))));
  }

  clear() {
    this.input.value = '';
    this.run();
  }

  typed(event) {
    if (event.key === 'Escape') this.clear();
    if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
    clearTimeout(this.timer);
    this.run();
    const first = this.panel.querySelector('a');
    if (event.key === 'Enter') first?.click();
    else first?.focus();
    event.preventDefault();
  }

  walked(event) {
    const links = [...this.panel.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 };
    if (event.key === 'Escape') {
      this.clear();
      this.input.focus();
    } else if (event.key in steps && at >= 0) {
      event.preventDefault();
      (links[steps[event.key]] ?? this.input).focus();
    }
  }
}
