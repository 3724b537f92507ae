// Tree explorer, after the tree pattern of the ARIA authoring practices. Opening a parent adds its
// children to the page; closing it removes them.

const BATCH = 100;

class TreeView {
  constructor(list, open) {
    this.list = list;
    this.open = open;
    this.entries = new WeakMap();
    list.addEventListener('click', (event) => this.clicked(event));
    list.addEventListener('keydown', (event) => this.pressed(event));
  }

  show(tree) {
    this.tree = tree;
    this.list.replaceChildren();
    const roots = rootsOf(tree);
    this.group = { list: this.list, members: roots, shown: 0, level: 1 };
    this.grow(this.group);
    this.setFocusable(this.list.firstElementChild);
    if (roots.length === 1) this.expand(this.list.firstElementChild);
  }

  /** Add the next batch of a group; it replaces items that `ahead` added. */
  grow(group) {
    group.more?.remove();
    const end = Math.min(group.members.length, group.shown + BATCH);
    const first = group.shown;
    for (; group.shown < end; group.shown += 1) {
      group.list.querySelector(`:scope > [data-ahead="${group.shown}"]`)?.remove();
      this.insert(group, this.item(group, group.shown));
    }
    const remaining = group.members.length - group.shown;
    if (remaining > 0) {
      const label = `Show ${whole(Math.min(BATCH, remaining))} of ${whole(remaining)} more`;
      group.more = el('li', { role: 'treeitem', class: 'more-item', tabindex: '-1', 'aria-level': group.level }, label);
      this.entries.set(group.more, { group, first: group.shown });
      this.insert(group, group.more);
    }
    return [...group.list.children].find((item) => this.entries.get(item)?.place === first);
  }

  /** Insert an item before the items that `ahead` added. */
  insert(group, item) {
    group.list.insertBefore(item, group.list.querySelector(':scope > [data-ahead]'));
  }

  item(group, place) {
    const node = nodes[group.members[place]];
    const doubts = doubtsOf(node);
    const unsupported = doubts.filter((doubt) => doubt.judgement === 'unsupported').length;
    const snippet = shorten(textOf(node), 130);
    const name = nameOf(node);
    const labels = [`${kindOf(node)}: ${name ? `${name}: ` : ''}${snippet}`, node.w && 'new', ...ranksOf(node).map(([strategy, , rank]) => `${rank} by ${strategy}`), doubts.length && `${unsupported} unsupported`];
    const row = el('div', { class: 'row' },
      el('span', { class: 'toggle', 'aria-hidden': 'true' }),
      el('span', { class: `badge layer-${Math.min(node.l, 5)}` }, isLeaf(node) ? '¶' : `L${node.l}`),
      el('span', { class: 'snippet' }, name ? el('strong', {}, name) : null, name ? ` ${snippet}` : snippet),
      rankMarks(node),
      node.w ? el('span', { class: 'new', title: 'New in the last build' }, 'new') : null,
      unsupported ? el('span', { class: 'flag', title: 'Unsupported sentences' }, `▲ ${unsupported}`) : null);
    const item = el('li', {
      role: 'treeitem', tabindex: '-1', 'aria-level': group.level, 'aria-setsize': group.members.length,
      'aria-posinset': place + 1, 'aria-selected': 'false', 'aria-label': labels.filter(Boolean).join(', '),
      'aria-expanded': node.c.length ? 'false' : null, 'data-node': node.index,
    }, row);
    this.entries.set(item, { node, group, place });
    return item;
  }

  expand(item) {
    const entry = this.entries.get(item);
    if (!entry.node?.c.length || entry.children) return;
    item.setAttribute('aria-expanded', 'true');
    const list = el('ul', { role: 'group' });
    entry.children = { list, members: entry.node.c, shown: 0, level: entry.group.level + 1 };
    item.append(list);
    this.grow(entry.children);
  }

  collapse(item) {
    const entry = this.entries.get(item);
    if (!entry.children) return;
    const hadFocus = entry.children.list.contains(document.activeElement);
    const focusable = entry.children.list.querySelector('[tabindex="0"]');
    entry.children.list.remove();
    entry.children = undefined;
    item.setAttribute('aria-expanded', 'false');
    if (hadFocus) this.focus(item);
    else if (focusable) this.setFocusable(item);
  }

  toggle(item) {
    if (this.entries.get(item).children) this.collapse(item);
    else this.expand(item);
  }

  /** Expand the path to a node and select it, without moving the focus. */
  reveal(path) {
    let group = this.group;
    let item = null;
    for (const index of path) {
      const place = group.members.indexOf(index);
      if (place < 0) return;
      item = [...group.list.children].find((child) => this.entries.get(child)?.place === place);
      if (!item) item = this.ahead(group, place);
      if (index !== path.at(-1)) {
        this.expand(item);
        group = this.entries.get(item).children;
      }
    }
    this.list.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false');
    item.setAttribute('aria-selected', 'true');
    this.setFocusable(item);
    item.firstElementChild.scrollIntoView({ block: 'nearest' });
  }

  /** Add an item before its batch; `grow` adds the items between later. */
  ahead(group, place) {
    const item = this.item(group, place);
    item.dataset.ahead = place;
    const later = [...group.list.querySelectorAll(':scope > [data-ahead]')];
    group.list.insertBefore(item, later.find((next) => Number(next.dataset.ahead) > place) ?? null);
    return item;
  }

  pathOf(item) {
    const path = [];
    for (let at = item; at; at = at.parentElement.closest('[data-node]')) path.unshift(Number(at.dataset.node));
    return path;
  }

  setFocusable(item) {
    this.list.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    item?.setAttribute('tabindex', '0');
  }

  focus(item) {
    if (!item) return;
    this.setFocusable(item);
    item.focus({ preventScroll: true });
    (item.firstElementChild ?? item).scrollIntoView({ block: 'nearest' });
  }

  activate(item) {
    const entry = this.entries.get(item);
    if (entry.node) this.open(entry.node, this.pathOf(item));
    else this.focus(this.grow(entry.group));
  }

  clicked(event) {
    const item = event.target.closest('[role="treeitem"]');
    if (!item) return;
    this.setFocusable(item);
    if (event.target.closest('.toggle')) this.toggle(item);
    else {
      if (this.entries.get(item).node) this.expand(item);
      this.activate(item);
    }
  }

  pressed(event) {
    const item = event.target.closest('[role="treeitem"]');
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.keys(item)[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  keys(item) {
    const shown = [...this.list.querySelectorAll('[role="treeitem"]')];
    const at = shown.indexOf(item);
    const entry = this.entries.get(item);
    const parent = item.parentElement.closest('[role="treeitem"]');
    return {
      ArrowDown: () => this.focus(shown[at + 1]),
      ArrowUp: () => this.focus(shown[at - 1]),
      Home: () => this.focus(shown[0]),
      End: () => this.focus(shown.at(-1)),
      ArrowRight: () => (entry.children ? this.focus(shown[at + 1]) : this.expand(item)),
      ArrowLeft: () => (entry.children ? this.collapse(item) : this.focus(parent)),
      Enter: () => this.activate(item),
      ' ': () => this.activate(item),
    };
  }
}
