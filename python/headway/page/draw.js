// SPDX-License-Identifier: Apache-2.0
// Paints a window of time onto the canvas.

const GUTTER = 104;  // pixels for the names of rows
const AXIS = 24;     // pixels for the times above
const ARROWS_MAX = 2500;  // more are not told apart; every so many-th is drawn

class Painter {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.model = model;
    this.layout = layOut(model.rows, model.ranks);
    this.context = canvas.getContext("2d");
    this.drawn = { spans: 0, messages: 0, every: 1 };
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colours = Object.fromEntries(KINDS.map(([kind]) => [kind, read(kind)]));
    for (const name of ["ink", "faint", "grid", "line", "panel", "arrow"]) {
      this.colours[name] = read(name);
    }
    this.fills = this.model.kinds.map((kind) => this.colours[kind]);
    this.kindIndex = this.model.kinds.map((kind) => KINDS.findIndex(([name]) => name === kind));
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const room = Math.max(240, Math.round(window.innerHeight * 0.72));
    this.width = this.canvas.clientWidth;
    this.height = Math.min(this.layout.height + AXIS, room);
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  get plotWidth() { return Math.max(1, this.width - GUTTER); }
  get scrollMax() { return Math.max(0, this.layout.height + AXIS - this.height); }

  x(view, moment) {
    return GUTTER + (moment - view.from) / (view.to - view.from) * this.plotWidth;
  }
  moment(view, x) {
    return view.from + (x - GUTTER) / this.plotWidth * (view.to - view.from);
  }
  y(view, place) { return AXIS + place.top - view.scroll; }

  draw(view) {
    const { context, colours } = this;
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, this.width, this.height);
    this.drawn = { spans: 0, messages: 0, every: 1 };
    this.drawGrid(view);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, this.plotWidth, this.height - AXIS);
    context.clip();
    this.model.rows.forEach((row, index) => {
      const place = this.layout.placed[index];
      const top = this.y(view, place);
      if (top + place.height >= AXIS && top <= this.height) {
        this.drawSpans(view, row.spans, top, place.height, true);
        const inset = Math.ceil(place.height * 0.55);
        this.drawSpans(view, row.inner, top + inset, place.height - inset, false);
      }
    });
    if (view.messages) {
      this.drawMessages(view);
    }
    if (view.selection) {
      const [from, to] = view.selection;
      context.globalAlpha = 0.18;
      context.fillStyle = colours.ink;
      context.fillRect(Math.min(from, to), AXIS, Math.abs(to - from), this.height);
      context.globalAlpha = 1;
    }
    context.restore();
    this.drawLabels(view);
  }

  drawGrid(view) {
    const { context, colours } = this;
    const step = niceStep((view.to - view.from) / (this.plotWidth / 110));
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const x = Math.round(this.x(view, at)) + 0.5;
      context.fillStyle = colours.grid;
      context.fillRect(x, AXIS - 4, 1, this.height);
      context.fillStyle = colours.faint;
      context.fillText(at === 0 ? "0" : formatTime(at, step), x, AXIS / 2);
    }
  }

  drawLabels(view) {
    const { context, colours, model } = this;
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, GUTTER, this.height);
    context.fillRect(GUTTER, 0, 0, AXIS);
    context.textAlign = "right";
    context.textBaseline = "middle";
    model.rows.forEach((row, index) => {
      const place = this.layout.placed[index];
      const middle = this.y(view, place) + place.height / 2;
      if (middle < AXIS + 4 || middle > this.height) {
        return;
      }
      const isMain = row.kind === "main";
      context.fillStyle = isMain ? colours.ink : colours.faint;
      const size = Math.max(8, Math.min(isMain ? 12.5 : 10.5, place.height));
      context.font = `${size}px system-ui, sans-serif`;
      context.fillText(row.label, GUTTER - 10, middle, GUTTER - 14);
    });
    context.fillStyle = colours.line;
    context.fillRect(GUTTER - 1, 0, 1, this.height);
    context.fillRect(0, AXIS - 1, this.width, 1);
  }

  /** Spans narrower than a pixel share one, in the colour of the kind that has most of it. */
  drawSpans(view, spans, top, height, hasNames) {
    const { context } = this;
    const shares = new Float64Array(KINDS.length);
    let column = -1;
    const paintColumn = () => {
      if (column >= 0) {
        const most = shares.indexOf(Math.max(...shares));
        context.fillStyle = this.colours[KINDS[most][0]];
        context.fillRect(column, top, 1, height);
        shares.fill(0);
        column = -1;
      }
    };
    for (let i = firstEndingAfter(spans, view.from);
      i < spans.count && spans.begin[i] < view.to; ++i) {
      const left = Math.max(this.x(view, spans.begin[i]), GUTTER - 2);
      const right = Math.min(this.x(view, spans.end[i]), this.width + 2);
      const name = spans.name[i];
      ++this.drawn.spans;
      if (right - left < 1) {
        const pixel = Math.floor(left);
        if (pixel !== column) {
          paintColumn();
          column = pixel;
        }
        shares[this.kindIndex[name]] += right - left + 1e-9;
        continue;
      }
      paintColumn();
      context.fillStyle = this.fills[name];
      context.fillRect(left, top, right - left, height);
      if (right - left > 4) {
        context.fillStyle = this.colours.panel;
        context.fillRect(right - 0.6, top, 0.6, height);
      }
      if (hasNames && right - left > 34 && height > 11) {
        this.drawName(this.model.names[name], this.model.kinds[name], left, right, top, height);
      }
    }
    paintColumn();
  }

  drawName(name, kind, left, right, top, height) {
    const { context } = this;
    context.font = "11px system-ui, sans-serif";
    if (context.measureText(name).width > right - left - 8) {
      return;
    }
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = kind === "compute" ? this.colours.faint : "#fff";
    context.fillText(name, left + 4, top + height * (height > 18 ? 0.36 : 0.5));
  }

  /** From where to where a message is drawn. */
  arrow(view, index) {
    const { messages } = this.model;
    const from = this.layout.mains.get(messages.from[index]);
    const to = this.layout.mains.get(messages.to[index]);
    if (!from || !to) {
      return null;
    }
    const isDown = from.top <= to.top;
    return [this.x(view, messages.posted[index]), this.y(view, from) + (isDown ? from.height : 0),
      this.x(view, messages.delivered[index]), this.y(view, to) + (isDown ? 0 : to.height)];
  }

  visibleMessages(view) {
    const { messages } = this.model;
    const visible = [];
    for (let i = 0; i < messages.count && messages.posted[i] <= view.to; ++i) {
      if (messages.delivered[i] >= view.from && messages.from[i] !== messages.to[i]) {
        visible.push(i);
      }
    }
    return visible;
  }

  drawMessages(view) {
    const { context, colours } = this;
    const visible = this.visibleMessages(view);
    const every = Math.max(1, Math.ceil(visible.length / ARROWS_MAX));
    this.drawn.messages = visible.length;
    this.drawn.every = every;
    context.strokeStyle = colours.arrow;
    context.fillStyle = colours.arrow;
    context.lineWidth = 1;
    context.globalAlpha = Math.max(0.25, Math.min(0.9, 160 / (visible.length / every + 1)));
    for (let k = 0; k < visible.length; k += every) {
      const line = this.arrow(view, visible[k]);
      if (line === null) {
        continue;
      }
      context.beginPath();
      context.moveTo(line[0], line[1]);
      context.lineTo(line[2], line[3]);
      context.stroke();
      if (visible.length < 400) {
        this.drawHead(line);
      }
    }
    context.globalAlpha = 1;
  }

  drawHead([x0, y0, x1, y1]) {
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const ux = (x1 - x0) / length;
    const uy = (y1 - y0) / length;
    this.context.beginPath();
    this.context.moveTo(x1, y1);
    this.context.lineTo(x1 - 6 * ux + 2.6 * uy, y1 - 6 * uy - 2.6 * ux);
    this.context.lineTo(x1 - 6 * ux - 2.6 * uy, y1 - 6 * uy + 2.6 * ux);
    this.context.fill();
  }

  /** What lies under a point: {row, list, index}, {message}, or null. */
  find(view, x, y) {
    if (x < GUTTER || y < AXIS) {
      return null;
    }
    const moment = this.moment(view, x);
    const rows = this.model.rows;
    for (let index = 0; index < rows.length; ++index) {
      const place = this.layout.placed[index];
      const inside = y - this.y(view, place);
      if (inside < 0 || inside > place.height) {
        continue;
      }
      if (inside > place.height * 0.55) {
        const inner = spanAt(rows[index].inner, moment);
        if (inner >= 0) {
          return { row: rows[index], list: rows[index].inner, index: inner };
        }
      }
      const found = spanAt(rows[index].spans, moment);
      return found < 0 ? null : { row: rows[index], list: rows[index].spans, index: found };
    }
    return this.findMessage(view, x, y);
  }

  findMessage(view, x, y) {
    if (!view.messages || this.drawn.every > 1) {
      return null;
    }
    let best = null;
    let nearest = 5;
    for (const index of this.visibleMessages(view)) {
      const line = this.arrow(view, index);
      if (line === null) {
        continue;
      }
      const [x0, y0, x1, y1] = line;
      const square = (x1 - x0) ** 2 + (y1 - y0) ** 2 || 1;
      const along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / square;
      const t = Math.max(0, Math.min(1, along));
      const distance = Math.hypot(x - x0 - t * (x1 - x0), y - y0 - t * (y1 - y0));
      if (distance < nearest) {
        nearest = distance;
        best = { message: index };
      }
    }
    return best;
  }
}
