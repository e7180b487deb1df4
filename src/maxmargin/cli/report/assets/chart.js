"use strict";
/* Line charts drawn as SVG. A chart is a <figure class="chart"> with its data as JSON inside. */
const charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = ["", "6 4", "2 3", "8 3 2 3"];
  const COLOURS = 8;
  const SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  function make(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) node.setAttribute(key, "");
      else if (value !== false && value !== null) node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  function draw(name, attributes = {}, words = null) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (words !== null) node.textContent = words;
    return node;
  }

  /* A number for people: few digits, a power of ten where it is very small or large. */
  function short(value, digits = 4) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e4 && size < 1e6) return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
    if (size >= 1e-4 && size < 1e6) return String(Number(value.toPrecision(digits)));
    const [front, power] = value.toExponential(digits - 1).split("e");
    const mantissa = String(Number(front));
    const tens = "10" + (power[0] === "-" ? "⁻" : "") + [...power.slice(1)].map((d) => SUPER[d]).join("");
    return mantissa === "1" ? tens : mantissa + "·" + tens;
  }

  class Axis {
    constructor(values, start, end, log) {
      let low = 1, high = 10;
      if (values.length) {
        low = values.reduce((a, b) => Math.min(a, b));
        high = values.reduce((a, b) => Math.max(a, b));
      }
      if (log) {
        const air = high > low ? Math.pow(high / low, 0.04) : 2;
        [this.low, this.high] = [low / air, high * air];
      } else {
        const air = 0.04 * (high - low) || Math.abs(high) / 2 || 1;
        this.low = low >= 0 && low <= 2 * air ? 0 : low - air;
        this.high = high + air;
      }
      // marks between integer numbers of passes or calls would mean nothing
      Object.assign(this, { start, end, log, whole: values.every(Number.isInteger) });
    }
    at(value) {
      const share = this.log
        ? Math.log(value / this.low) / Math.log(this.high / this.low)
        : (value - this.low) / (this.high - this.low);
      return this.start + share * (this.end - this.start);
    }
    ticks(wanted) {
      if (this.log) {
        const marks = this.powers(wanted);
        if (marks.length > 2 || this.high > 10 * this.low) return marks;
      }
      const span = this.high - this.low;
      const power = Math.pow(10, Math.floor(Math.log10(span / wanted)));
      const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s * wanted >= span) || span;
      const marks = [];
      for (let k = Math.ceil(this.low / step); k <= Math.floor(this.high / step); k++) {
        marks.push(k === 0 ? 0 : Number((k * step).toPrecision(12)));
      }
      if (this.log) return marks.filter((m) => m > 0);
      return this.whole ? marks.filter(Number.isInteger) : marks;
    }
    powers(wanted) {
      const first = Math.floor(Math.log10(this.low)), last = Math.ceil(Math.log10(this.high));
      const skip = Math.max(1, Math.ceil((last - first) / (wanted + 1)));
      const decades = Math.log10(this.high / this.low);
      const factors = decades < 2 ? [1, 2, 5] : decades < 3.5 ? [1, 3] : [1];
      const marks = [];
      for (let k = first; k <= last; k++) {
        if (k % skip === 0) factors.forEach((f) => marks.push(f * Math.pow(10, k)));
      }
      return marks.filter((m) => m >= this.low && m <= this.high);
    }
  }

  /* Shapes tell curves apart where colours do not. */
  function marker(shape, x, y, r) {
    const paths = [
      `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
      `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
      `M${x} ${y - 1.2 * r}l${1.2 * r} ${2.1 * r}h${-2.4 * r}z`,
      `M${x} ${y - 1.35 * r}l${1.35 * r} ${1.35 * r}l${-1.35 * r} ${1.35 * r}l${-1.35 * r} ${-1.35 * r}z`,
      `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`,
      `M${x} ${y + 1.2 * r}l${1.2 * r} ${-2.1 * r}h${-2.4 * r}z`,
    ];
    return paths[shape % paths.length];
  }

  class Chart {
    constructor(figure) {
      this.spec = JSON.parse(figure.querySelector("script").textContent);
      this.plot = figure.querySelector(".plot");
      this.many = this.spec.groups.length > 1;
      this.state = {
        x: this.spec.x[0].key, y: this.spec.y[0].key, facet: this.spec.facets[this.spec.facets.length - 1],
        logX: this.spec.logX, logY: Object.fromEntries(this.spec.y.map((q) => [q.key, q.log])), hidden: new Set(),
      };
      this.id = "chart" + Chart.made++;
      this.svg = draw("svg", { tabindex: 0, role: "application", "aria-roledescription": "chart" });
      this.tip = make("div", { class: "tip", role: "status", hidden: true });
      this.note = make("p", { class: "note" });
      this.keys = make("div", { class: "keys", role: "group", "aria-label": "Curves" });
      this.controls = make("div", { class: "controls" });
      figure.insertBefore(this.controls, this.plot);
      this.plot.replaceChildren(this.svg, this.tip);
      this.plot.after(this.keys, this.note);
      this.choices();
      this.listen();
      new ResizeObserver(() => this.render()).observe(this.plot);
      this.render();
    }

    choices() {
      const { spec, state } = this;
      this.segments("Show", spec.y, state.y, (key) => { state.y = key; this.sync(); });
      if (spec.x.length > 1) this.segments("against", spec.x, state.x, (key) => { state.x = key; });
      if (spec.facets.length > 1) {
        const sizes = spec.facets.map((f) => ({ key: f, label: f }));
        this.segments(spec.facetName, sizes, state.facet, (key) => { state.facet = key; });
      }
      this.switchX = this.check("log across", (on) => { state.logX = on; });
      this.switchY = this.check("log up", (on) => { state.logY[state.y] = on; });
      const box = make("fieldset", {}, make("legend", {}, "Axes"), this.switchX.label, this.switchY.label);
      this.controls.append(box);
      this.sync();
    }

    sync() {
      this.switchX.input.checked = this.state.logX;
      this.switchY.input.checked = this.state.logY[this.state.y];
    }

    segments(title, options, chosen, choose) {
      const box = make("fieldset", {}, make("legend", {}, title));
      const name = this.id + "-" + this.controls.childElementCount;
      for (const option of options) {
        const input = make("input", { type: "radio", name, value: option.key, checked: option.key === chosen });
        input.addEventListener("change", () => { choose(option.key); this.render(); });
        box.append(make("label", { class: "seg" }, input, make("span", {}, option.short || option.label)));
      }
      this.controls.append(box);
    }

    check(title, change) {
      const input = make("input", { type: "checkbox" });
      input.addEventListener("change", () => { change(input.checked); this.render(); });
      return { input, label: make("label", { class: "seg" }, input, make("span", {}, title)) };
    }

    /* The curves of the chosen quantity, with their look; one key may stand for several of them. */
    curves() {
      const { spec, state } = this;
      const quantity = spec.y.find((q) => q.key === state.y);
      const found = [];
      for (const series of spec.series) {
        if (series.facet !== state.facet) continue;
        for (const curve of quantity.curves) {
          if (!series.data[curve.key]) continue;
          const look = this.many ? series.group : curve.dash;
          found.push({
            data: series.data, field: curve.key, look, dash: this.many ? curve.dash : look,
            key: this.many ? series.name : curve.name,
            name: this.many ? series.name + (quantity.curves.length > 1 ? ", " + curve.name : "") : curve.name,
          });
        }
      }
      return found;
    }

    /* Points that have a place on the axes; a null where one is missing breaks the line. */
    points(curve, logX, logY) {
      const { data, field } = curve, across = data[this.state.x] || [];
      const low = data[field + "_low"], high = data[field + "_high"];
      return data[field].map((y, k) => {
        const x = across[k];
        if (typeof y !== "number" || typeof x !== "number") return null;
        if ((logX && x <= 0) || (logY && y <= 0)) { this.dropped++; return null; }
        const bar = low && typeof low[k] === "number" && low[k] < high[k] && (!logY || low[k] > 0);
        return { x, y, low: bar ? low[k] : null, high: bar ? high[k] : null };
      });
    }

    render() {
      const { state, spec, svg } = this;
      const width = Math.max(240, this.plot.clientWidth), height = Math.round(Math.min(400, Math.max(260, width * 0.52)));
      const logX = state.logX, logY = state.logY[state.y];
      this.dropped = 0;
      this.hide();
      const curves = this.curves();
      this.legend(curves);
      const shown = curves.filter((c) => !state.hidden.has(c.key));
      shown.forEach((c) => { c.points = this.points(c, logX, logY); });
      const all = shown.flatMap((c) => c.points.filter(Boolean));
      const left = 58, right = width - 12, bottom = height - 46, top = 12;
      const x = new Axis(all.map((p) => p.x), left, right, logX);
      const y = new Axis(all.flatMap((p) => (p.low === null ? [p.y] : [p.y, p.low, p.high])), bottom, top, logY);
      const quantity = spec.y.find((q) => q.key === state.y);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("width", width);
      svg.setAttribute("height", height);
      svg.setAttribute("aria-label", `${quantity.label} against ${this.across().label}; arrow keys read the values`);
      svg.replaceChildren();
      this.frame(x, y, quantity, all.length > 0);
      shown.forEach((c) => this.line(c, x, y));
      this.focus = svg.appendChild(draw("g"));
      this.shown = shown;
      this.places = [...new Set(all.map((p) => p.px))].sort((a, b) => a - b);
      this.area = { left, right, top, bottom };
      this.note.textContent = this.remarks(curves, quantity).join(" ");
    }

    /* What is not drawn, and why. */
    remarks(curves, quantity) {
      const notes = [];
      const known = new Set(curves.filter((c) => c.data[c.field].some((v) => v !== null)).map((c) => c.key));
      const absent = this.many ? this.spec.groups.filter((name) => !known.has(name)) : [];
      if (absent.length) notes.push(`Without a ${quantity.label.toLowerCase()} here: ${absent.join(", ")}.`);
      if (this.dropped) {
        notes.push(`Values at or below zero have no place on a logarithmic axis: ${this.dropped} left out.`);
      }
      return notes;
    }

    across() { return this.spec.x.find((a) => a.key === this.state.x); }

    frame(x, y, quantity, any) {
      const { svg } = this;
      for (const mark of y.ticks(5)) {
        const at = y.at(mark).toFixed(1);
        svg.append(draw("path", { d: `M${x.start} ${at}H${x.end}`, class: "grid" }));
        svg.append(draw("text", { x: x.start - 8, y: at, dy: "0.32em", "text-anchor": "end", class: "ytick" }, short(mark)));
      }
      const marks = this.across().marks || x.ticks(Math.max(4, Math.floor((x.end - x.start) / 80)));
      for (const mark of marks) {
        const at = x.at(mark).toFixed(1);
        svg.append(draw("path", { d: `M${at} ${y.start}v5`, class: "axis" }));
        svg.append(draw("text", { x: at, y: y.start + 19, "text-anchor": "middle", class: "xtick" }, short(mark)));
      }
      svg.append(draw("path", { d: `M${x.start} ${y.start}H${x.end}`, class: "axis" }));
      const middle = (x.start + x.end) / 2;
      svg.append(draw("text", { x: middle, y: y.start + 38, "text-anchor": "middle" }, this.across().label + (x.log ? " (log)" : "")));
      const turn = `translate(12 ${(y.start + y.end) / 2}) rotate(-90)`;
      svg.append(draw("text", { transform: turn, "text-anchor": "middle" }, quantity.label.toLowerCase() + (y.log ? " (log)" : "")));
      if (!any) {
        const words = "nothing to draw on these axes";
        svg.append(draw("text", { x: middle, y: (y.start + y.end) / 2, "text-anchor": "middle" }, words));
      }
    }

    line(curve, x, y) {
      const colour = `var(--c${curve.look % COLOURS})`;
      const group = draw("g", { class: "curve", stroke: colour, fill: "none", "stroke-width": 1.8, "stroke-linejoin": "round" });
      let path = "", pen = "M";
      for (const p of curve.points) {
        if (p === null) { pen = "M"; continue; }
        [p.px, p.py] = [x.at(p.x), y.at(p.y)];
        path += `${pen}${p.px.toFixed(1)} ${p.py.toFixed(1)}`;
        pen = "L";
        if (p.low !== null) {
          const d = `M${p.px.toFixed(1)} ${y.at(p.low).toFixed(1)}V${y.at(p.high).toFixed(1)}`;
          group.append(draw("path", { d, class: "bar", "stroke-width": 5, "stroke-opacity": 0.3 }));
        }
      }
      if (path) group.append(draw("path", { d: path, "stroke-dasharray": DASHES[curve.dash % DASHES.length], class: "line" }));
      const points = curve.points.filter(Boolean), step = Math.max(1, Math.ceil(points.length / 40));
      const marks = points.filter((p, k) => k % step === 0 || k === points.length - 1).map((p) => marker(curve.look, p.px, p.py, 3));
      if (marks.length) group.append(draw("path", { d: marks.join(""), fill: colour, "stroke-width": 1, class: "marks" }));
      this.svg.append(group);
    }

    swatch(curve) {
      const colour = `var(--c${curve.look % COLOURS})`;
      const svg = draw("svg", { width: 28, height: 12, "aria-hidden": "true", stroke: colour, fill: "none" });
      svg.append(draw("path", { d: "M0 6H28", "stroke-width": 1.8, "stroke-dasharray": DASHES[curve.dash % DASHES.length] }));
      svg.append(draw("path", { d: marker(curve.look, 14, 6, 3), fill: colour }));
      return svg;
    }

    legend(curves) {
      const keys = new Map();
      curves.forEach((c) => { if (!keys.has(c.key)) keys.set(c.key, c); });
      const wanted = [...keys.keys()].join("\n") + this.state.y;
      if (this.drawn === wanted) return;
      this.drawn = wanted;
      this.keys.replaceChildren();
      if (keys.size < 2) return;
      for (const [key, curve] of keys) {
        const input = make("input", { type: "checkbox", checked: !this.state.hidden.has(key) });
        input.addEventListener("change", () => {
          if (input.checked) this.state.hidden.delete(key); else this.state.hidden.add(key);
          this.render();
        });
        const words = make("bdi");
        words.textContent = key;
        this.keys.append(make("label", {}, input, this.swatch(curve), words));
      }
      const dashed = this.many ? this.spec.y.find((q) => q.key === this.state.y).curves : [];
      if (dashed.length > 1) {
        this.keys.append(make("span", { class: "note" }, dashed.map((c, k) => `${k ? "dashed" : "solid"}: ${c.name}`).join(", ")));
      }
    }

    listen() {
      const { svg } = this;
      const follow = (event) => {
        const box = svg.getBoundingClientRect();
        const scale = box.width ? svg.viewBox.baseVal.width / box.width : 1;
        this.show((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
      };
      svg.addEventListener("pointermove", follow);
      svg.addEventListener("pointerdown", follow);
      svg.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") this.hide(); });
      svg.addEventListener("blur", () => this.hide());
      svg.addEventListener("keydown", (event) => {
        const last = this.places.length - 1;
        const now = this.at === null ? -1 : this.places.indexOf(this.at);
        const next = { ArrowRight: Math.min(last, now + 1), ArrowLeft: Math.max(0, now - 1), Home: 0, End: last }[event.key];
        if (event.key === "Escape") this.hide();
        if (next === undefined || last < 0) return;
        event.preventDefault();
        this.show(this.places[next], null);
      });
    }

    hide() {
      this.tip.hidden = true;
      this.at = null;
      if (this.focus) this.focus.replaceChildren();
    }

    /* Values at the place nearest to a pixel, of every curve that has a point near it. */
    show(px, py) {
      if (!this.places.length) return;
      const at = this.places.reduce((a, b) => (Math.abs(b - px) < Math.abs(a - px) ? b : a));
      const near = [];
      for (const curve of this.shown) {
        const points = curve.points.filter(Boolean);
        if (!points.length) continue;
        const point = points.reduce((a, b) => (Math.abs(b.px - at) < Math.abs(a.px - at) ? b : a));
        if (Math.abs(point.px - at) <= 14) near.push({ curve, point });
      }
      const { left, right, top, bottom } = this.area;
      const exact = near.filter((n) => n.point.px === at);
      const best = py === null ? exact[0] : near.reduce((a, b) => (Math.abs(b.point.py - py) < Math.abs(a.point.py - py) ? b : a));
      this.at = at;
      this.focus.replaceChildren(
        draw("path", { d: `M${at} ${top}V${bottom}M${left} ${best.point.py}H${right}`, class: "cross" }),
        ...near.map((n) => draw("circle", {
          cx: n.point.px, cy: n.point.py, r: 5, fill: "none", stroke: `var(--c${n.curve.look % COLOURS})`, "stroke-width": 2,
        })),
      );
      this.tell(exact[0].point.x, near, at);
    }

    tell(x, near, at) {
      const head = make("b");
      head.textContent = `${this.across().label}: ${short(x, 5)}`;
      const rows = near.slice(0, 12).map(({ curve, point }) => {
        const name = make("bdi"), value = make("span");
        name.textContent = curve.name;
        const range = point.low === null ? "" : ` (${short(point.low, 3)} to ${short(point.high, 3)})`;
        value.textContent = short(point.y, range ? 3 : 5) + range + (point.x === x ? "" : ` at ${short(point.x, 3)}`);
        return make("div", {}, this.swatch(curve), name, value);
      });
      this.tip.replaceChildren(head, ...rows);
      this.tip.hidden = false;
      const scale = this.svg.getBoundingClientRect().width / this.svg.viewBox.baseVal.width || 1;
      const room = this.plot.clientWidth - this.tip.offsetWidth;
      const right = at * scale + 14, left = at * scale - this.tip.offsetWidth - 14;
      this.tip.style.left = Math.max(0, Math.min(room, right <= room ? right : left)) + "px";
      this.tip.style.top = "10px";
    }
  }
  Chart.made = 0;
  return { make, start: () => document.querySelectorAll("figure.chart").forEach((figure) => new Chart(figure)) };
})();
