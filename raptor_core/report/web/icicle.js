// Layers as an icicle plot: top nodes above, leaves below; the width of a node is its leaves.

class Icicle extends Drawing {
  constructor(atlas, select) {
    super(atlas, select, 'plane icicle', 'Layers of the nodes. Arrow keys move between them, Enter shows a node, Escape shows all.');
    Object.assign(this, { from: 0, to: atlas.total });
    this.top = atlas.n ? Math.max(...atlas.tops) : 0;
    this.canvas.addEventListener('click', (event) => this.clicked(event));
    this.canvas.addEventListener('pointermove', ({ offsetX: x, offsetY: y }) => this.hover(this.at(x, y), x, y));
    this.canvas.addEventListener('wheel', (event) => this.wheeled(event), { passive: false });
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  paint(colorOf) {
    this.colorOf = colorOf;
    this.draw();
  }

  /** Draw; return whether there is something to draw and the box has a size. */
  frame() {
    const { canvas, box, atlas } = this;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = box;
    if (!width || !this.colorOf) return false;
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const pen = canvas.getContext('2d');
    const style = getComputedStyle(box);
    const ink = style.getPropertyValue('--ink');
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(this, { width, row: Math.min(190, (height - 8) / (this.top + 1)), each: width / (this.to - this.from) });
    Object.assign(pen, { font: `600 12px ${style.fontFamily}`, textBaseline: 'middle' });
    const ends = new Float64Array(this.top + 1).fill(-1);
    for (const i of atlas.acrossOrder) {
      const [x, y, wide, high] = this.place(i);
      const layer = atlas.layer[i];
      const isLit = atlas.lit.has(i);
      if (x + wide < 0 || x > width || (x + wide < ends[layer] + 0.6 && !isLit && i !== atlas.selected)) continue;
      ends[layer] = Math.max(ends[layer], x + Math.max(wide, 0.6));
      const [red, green, blue] = this.colorOf(i);
      pen.fillStyle = `rgb(${red} ${green} ${blue} / ${atlas.lit.size && !isLit ? 0.28 : layer ? 0.9 : 0.7})`;
      pen.fillRect(x, y, Math.max(0.6, wide - (wide > 4 ? 1 : 0)), high - 2);
      if (wide > 46) this.text(pen, i, x, y, wide, high, style);
      for (const [at, [color, rank]] of (atlas.lit.get(i) ?? []).entries()) this.rank(pen, x + Math.max(wide, 2) / 2 + 20 * at, y + high / 2, color, rank);
      if (i === atlas.selected) { Object.assign(pen, { strokeStyle: ink, lineWidth: 2.5 }); pen.strokeRect(x + 1, y + 1, Math.max(3, wide - 3), high - 4); }
    }
    return true;
  }

  place(i) {
    const { atlas } = this;
    return [(atlas.start[i] - this.from) * this.each, 4 + (this.top - atlas.layer[i]) * this.row, atlas.size[i] * this.each, this.row];
  }

  text(pen, i, x, y, wide, high, style) {
    const [left, right] = [Math.max(x, 0), Math.min(x + wide, this.width)];
    if (right - left < 46) return;
    pen.save();
    pen.beginPath();
    pen.rect(left, y, right - left - 4, high - 2);
    pen.clip();
    pen.fillStyle = style.getPropertyValue('--on-fill');
    pen.fillText(this.atlas.label(i), left + 8, y + high / 2);
    pen.restore();
  }

  /** Return the node at a place on the screen, or -1. */
  at(x, y) {
    const layer = this.top - Math.floor((y - 4) / this.row);
    const place = this.from + x / this.each;
    const { atlas } = this;
    for (let i = 0; i < atlas.n; i += 1) {
      if (atlas.layer[i] === layer && atlas.start[i] <= place && place < atlas.start[i] + atlas.size[i]) return i;
    }
    return -1;
  }

  clicked(event) {
    const i = this.at(event.offsetX, event.offsetY);
    if (i >= 0) { this.select(i); this.flyTo([i]); }
  }

  wheeled(event) {
    event.preventDefault();
    this.zoomAt(Math.exp(-event.deltaY * 0.0018), event.offsetX);
  }

  zoomAt(factor, x = this.width / 2) {
    const { total } = this.atlas;
    const middle = this.from + x / this.each;
    const span = Math.max(4, Math.min(total, (this.to - this.from) / factor));
    const from = Math.max(0, Math.min(total - span, middle - span * (x / this.width)));
    Object.assign(this, { from, to: from + span });
    this.draw();
  }

  /** Show the range of these nodes, and a little more. */
  flyTo(members) {
    const { atlas } = this;
    const [first, last] = [Math.min(...members.map((i) => atlas.start[i])), Math.max(...members.map((i) => atlas.start[i] + atlas.size[i]))];
    const more = (last - first) * 0.15 + 2;
    Object.assign(this, { from: Math.max(0, first - more), to: Math.min(atlas.total, last + more) });
    this.draw();
  }

  all() {
    Object.assign(this, { from: 0, to: this.atlas.total });
    this.draw();
  }

  pressed(event) {
    const { atlas } = this;
    const i = atlas.selected < 0 ? atlas.acrossOrder[0] : atlas.selected;
    const near = (step) => {
      for (let at = i + step; at >= 0 && at < atlas.n; at += step) if (atlas.layer[at] === atlas.layer[i]) return at;
      return i;
    };
    const moves = {
      ArrowUp: () => (atlas.parent[i] < 0 ? i : atlas.parent[i]), ArrowDown: () => atlas.children(i)[0] ?? i,
      ArrowLeft: () => near(-1), ArrowRight: () => near(1), Enter: () => i,
    };
    if (event.key === 'Escape') this.all();
    else if (event.key === '+' || event.key === '-') this.zoomAt(event.key === '+' ? 1.5 : 1 / 1.5);
    else if (moves[event.key]) { const next = moves[event.key](); this.select(next); this.flyTo([next]); }
    else return;
    event.preventDefault();
  }
}
