// Map: points on a plane, drawn by WebGL with a single call for any number of points.
// No library: regl creates code from texts, which the page's policy forbids, and other libraries
// are a hundred times as long as this file.

const VERTEX = `#version 300 es
in vec2 place; in vec4 color; in float size;
uniform vec2 scale; uniform vec2 shift; uniform float grow;
out vec4 tint;
void main() {
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = size * grow;
  tint = color;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint; out vec4 shown;
void main() {
  float far = length(gl_PointCoord - 0.5);
  float edge = fwidth(far);
  float cover = 1.0 - smoothstep(0.5 - edge, 0.5, far);
  shown = vec4(tint.rgb, 1.0) * tint.a * cover;
}`;
const REACH = 14;
const MAX_LABELS = 70;

/** Base of map and layers: a canvas in a box, a label at the pointer, a frame on request. */
class Drawing {
  /** `select(i)` is called with the index of a clicked node. */
  constructor(atlas, select, name, description) {
    Object.assign(this, { atlas, select });
    this.canvas = el('canvas', { class: 'points', tabindex: '0', role: 'img', 'aria-label': description });
    this.tip = el('div', { class: 'tip', hidden: true });
    this.box = el('div', { class: name }, this.canvas, this.tip);
    this.canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('keydown', (event) => this.pressed(event));
  }

  /** Request a drawing for the next frame. */
  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.frame()) this.box.dataset.frames = Number(this.box.dataset.frames ?? 0) + 1;
    });
  }

  /** Show the name of a node at the pointer. */
  hover(i, x, y) {
    this.tip.hidden = i < 0;
    if (i < 0) return;
    this.tip.textContent = this.atlas.label(i);
    this.tip.style.left = `${Math.min(x + 14, this.width - 240)}px`;
    this.tip.style.top = `${y + 14}px`;
  }

  /** Draw the rank of a highlighted node in a circle. */
  rank(pen, x, y, color, rank) {
    pen.save();
    Object.assign(pen, { fillStyle: color, strokeStyle: '#fff', lineWidth: 2, font: '700 11px sans-serif', textAlign: 'center' });
    pen.beginPath();
    pen.arc(x, y, 10, 0, 7);
    pen.fill();
    pen.stroke();
    pen.fillStyle = '#fff';
    pen.fillText(rank, x, y + 0.5);
    pen.restore();
  }
}

class Plane extends Drawing {
  constructor(atlas, select) {
    super(atlas, select, 'plane', 'Map of the nodes. Arrow keys move it, plus and minus zoom, 0 shows all. The list next to it links to every cluster.');
    Object.assign(this, { zoom: 1, x: atlas.middle[0], y: atlas.middle[1] });
    this.marks = el('canvas', { class: 'marks', 'aria-hidden': 'true' });
    this.tip.before(this.marks);
    this.gl = this.canvas.getContext('webgl2', { antialias: false, premultipliedAlpha: true });
    if (!this.gl) return;
    this.prepare();
    this.listen();
  }

  prepare() {
    const { gl, atlas } = this;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.program = program;
    this.colors = this.attribute('color', 4, gl.UNSIGNED_BYTE, true);
    this.sizes = this.attribute('size', 1, gl.FLOAT, false);
    const places = this.attribute('place', 2, gl.FLOAT, false);
    gl.bindBuffer(gl.ARRAY_BUFFER, places);
    const flat = new Float32Array(2 * atlas.n);
    for (let i = 0; i < atlas.n; i += 1) { flat[2 * i] = atlas.x[i]; flat[2 * i + 1] = 1 - atlas.y[i]; }
    gl.bufferData(gl.ARRAY_BUFFER, flat, gl.STATIC_DRAW);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  attribute(name, width, kind, normalized) {
    const { gl } = this;
    const buffer = gl.createBuffer();
    const at = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, width, kind, normalized, 0, 0);
    return buffer;
  }

  /** Set colours and sizes of all points; `colorOf(i)` returns [red, green, blue], 0 to 255. */
  paint(colorOf, labels) {
    const { gl, atlas } = this;
    this.labels = labels;
    const dim = atlas.lit.size > 0;
    const colors = new Uint8Array(4 * atlas.n);
    const sizes = new Float32Array(atlas.n);
    const small = Math.max(2.2, Math.min(7, 160 / Math.sqrt(atlas.n)));
    for (let i = 0; i < atlas.n; i += 1) {
      const layer = atlas.layer[i];
      const isLit = atlas.lit.has(i);
      colors.set(colorOf(i), 4 * i);
      colors[4 * i + 3] = isLit ? 255 : (dim ? 70 : (layer ? 235 : 170));
      sizes[i] = isLit ? 16 : small * (1 + 0.55 * layer);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colors);
    gl.bufferData(gl.ARRAY_BUFFER, colors, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.sizes);
    gl.bufferData(gl.ARRAY_BUFFER, sizes, gl.STATIC_DRAW);
    this.draw();
  }

  /** Draw; return whether the box has a size. */
  frame() {
    const { canvas, marks, gl } = this;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.box;
    if (!width || !height || !gl) return false;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      for (const layer of [canvas, marks]) { layer.width = Math.round(width * ratio); layer.height = Math.round(height * ratio); }
    }
    Object.assign(this, { width, height, side: 0.9 * Math.min(width / this.atlas.wide, height / this.atlas.high) * this.zoom });
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const scale = [2 * this.side / width, 2 * this.side / height];
    gl.uniform2f(gl.getUniformLocation(this.program, 'scale'), ...scale);
    gl.uniform2f(gl.getUniformLocation(this.program, 'shift'), -this.x * scale[0], -(1 - this.y) * scale[1]);
    gl.uniform1f(gl.getUniformLocation(this.program, 'grow'), ratio * Math.min(3, this.zoom ** 0.35));
    gl.drawArrays(gl.POINTS, 0, this.atlas.n);
    this.write(ratio);
    return true;
  }

  screen(i) {
    return [(this.atlas.x[i] - this.x) * this.side + this.width / 2, (this.atlas.y[i] - this.y) * this.side + this.height / 2];
  }

  /** Write ranks of highlighted nodes and names of clusters; of overlapping names the largest cluster's. */
  write(ratio) {
    const pen = this.marks.getContext('2d');
    const style = getComputedStyle(this.box);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    Object.assign(pen, { font: `600 12.5px ${style.fontFamily}`, textAlign: 'center', textBaseline: 'middle', lineJoin: 'round', lineWidth: 4, strokeStyle: style.getPropertyValue('--paper'), fillStyle: style.getPropertyValue('--ink') });
    this.ring(pen, this.atlas.selected, style.getPropertyValue('--ink'));
    const taken = [];
    for (const [i, ranks] of this.atlas.lit) {
      const [x, y] = this.screen(i);
      ranks.forEach(([color, rank], at) => {
        this.rank(pen, x + 18 * at, y, color, rank);
        taken.push([x + 18 * at, y, 12]);
      });
    }
    for (const label of this.labels ?? []) {
      if (taken.length >= MAX_LABELS) break;
      if (label.from > this.zoom) continue;
      const [x, y] = [(label.x - this.x) * this.side + this.width / 2, (label.y - this.y) * this.side + this.height / 2];
      if (x < 0 || y < 0 || x > this.width || y > this.height) continue;
      label.width ??= pen.measureText(label.text).width;
      const half = label.width / 2 + 6;
      const at = Math.max(half, Math.min(this.width - half, x));
      if (taken.some(([tx, ty, th]) => Math.abs(tx - at) < th + half && Math.abs(ty - y) < 19)) continue;
      taken.push([at, y, half]);
      pen.strokeText(label.text, at, y);
      pen.fillText(label.text, at, y);
    }
    this.box.dataset.labels = taken.length;
  }

  ring(pen, i, color) {
    if (i < 0) return;
    const [x, y] = this.screen(i);
    pen.save();
    Object.assign(pen, { strokeStyle: color, lineWidth: 2 });
    pen.beginPath();
    pen.arc(x, y, 11, 0, 7);
    pen.stroke();
    pen.restore();
  }

  /** Return the point nearest to a place on the screen, upper layers first, or -1. */
  nearest(x, y) {
    let [best, least] = [-1, REACH * REACH];
    for (let i = 0; i < this.atlas.n; i += 1) {
      const [px, py] = this.screen(i);
      const far = ((px - x) ** 2 + (py - y) ** 2) / (1 + this.atlas.layer[i]) / (this.atlas.lit.has(i) ? 4 : 1);
      if (far < least) { best = i; least = far; }
    }
    return best;
  }

  zoomAt(factor, x = this.width / 2, y = this.height / 2) {
    const oldSide = this.side;
    const to = Math.max(0.5, Math.min(400, this.zoom * factor));
    const side = oldSide * to / this.zoom;
    this.x += (x - this.width / 2) * (1 / oldSide - 1 / side);
    this.y += (y - this.height / 2) * (1 / oldSide - 1 / side);
    this.zoom = to;
    this.draw();
  }

  /** Move to a part of the plane; at once if the reader prefers reduced motion. */
  fly(x, y, zoom) {
    const from = [this.x, this.y, Math.log(this.zoom)];
    const to = [x, y, Math.log(Math.max(0.5, Math.min(400, zoom)))];
    const begun = performance.now();
    const lasts = matchMedia('(prefers-reduced-motion: reduce)').matches ? 1 : 350;
    const step = (now) => {
      const part = Math.min(1, Math.max(0, now - begun) / lasts);
      const eased = part * part * (3 - 2 * part);
      const [fx, fy, fz] = from.map((start, at) => start + (to[at] - start) * eased);
      Object.assign(this, { x: fx, y: fy, zoom: Math.exp(fz) });
      this.draw();
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  all() { this.fly(...this.atlas.middle, 1); }

  flyTo(members) {
    let [left, top, right, bottom] = [2, 2, -1, -1];
    for (const i of members) {
      left = Math.min(left, this.atlas.x[i]); right = Math.max(right, this.atlas.x[i]);
      top = Math.min(top, this.atlas.y[i]); bottom = Math.max(bottom, this.atlas.y[i]);
    }
    this.fly((left + right) / 2, (top + bottom) / 2, Math.min(60, 0.6 / Math.max((right - left) / this.atlas.wide, (bottom - top) / this.atlas.high, 0.01)));
  }

  listen() {
    const { canvas } = this;
    const pointers = new Map();
    let moved = 0;
    const at = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoomAt(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), ...at(event));
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, at(event));
      moved = 0;
    });
    canvas.addEventListener('pointermove', (event) => {
      const now = at(event);
      if (!pointers.has(event.pointerId)) { this.hover(this.nearest(...now), ...now); return; }
      const last = pointers.get(event.pointerId);
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      pointers.set(event.pointerId, now);
      moved += Math.hypot(now[0] - last[0], now[1] - last[1]);
      if (others.length) {
        const gap = (place) => Math.hypot(place[0] - others[0][0], place[1] - others[0][1]);
        this.zoomAt(gap(now) / Math.max(1, gap(last)), ...others[0]);
      } else {
        this.x -= (now[0] - last[0]) / this.side;
        this.y -= (now[1] - last[1]) / this.side;
        this.draw();
      }
    });
    const release = (event) => {
      if (pointers.delete(event.pointerId) && moved < 5 && event.type === 'pointerup') {
        const i = this.nearest(...at(event));
        if (i >= 0) this.select(i);
      }
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 60 / this.side;
    const acts = {
      ArrowLeft: () => { this.x -= step; }, ArrowRight: () => { this.x += step; },
      ArrowUp: () => { this.y -= step; }, ArrowDown: () => { this.y += step; },
      '+': () => this.zoomAt(1.4), '=': () => this.zoomAt(1.4), '-': () => this.zoomAt(1 / 1.4), 0: () => this.all(),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
    this.draw();
  }
}
