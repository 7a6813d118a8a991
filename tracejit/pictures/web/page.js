"use strict";
// The page of a picture: moving about in the graph, choosing, searching, closing loops, stages. It needs no network.
(() => {
  const $ = id => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const stages = {};
  for (const s of document.querySelectorAll("script.stage")) stages[s.dataset.name] = s;
  const world = $("world"), canvas = $("canvas");
  let stage = null, view = {x: 0, y: 0, k: 1}, closed = new Set(), chosen = null, boxes = {}, arrows = [];

  // ---------------------------------------------------------------- stages

  function show(name, keep) {
    stage = typeof stages[name] === "object" && stages[name].svg !== undefined
      ? stages[name] : (stages[name] = JSON.parse(stages[name].textContent));
    stage.name = name;
    world.innerHTML = stage.svg;
    boxes = {}; arrows = [];
    collect(stage.layout, world, null);
    const at = data.order.indexOf(name);
    $("slider").max = data.order.length - 1;
    $("slider").value = at;
    if (!stage.seen) for (const id in stage.nodes) if (stage.nodes[id].part) closed.add(id);
    stage.seen = true;
    const count = Object.values(stage.nodes).filter(n => n.kind === "equation" && !n.part).length;
    $("stage").innerHTML = "";
    $("stage").append(name + " ", Object.assign(document.createElement("small"), {textContent: count + " equations"}));
    $("before").disabled = at === 0;
    $("after").disabled = at === data.order.length - 1;
    $("memory").innerHTML = stage.memory;
    legend();
    changes();
    arrange();
    if (!keep) begin();
    search();
    choose(chosen && boxes[chosen] ? chosen : null);
  }

  function legend() {
    const place = $("legend");
    place.innerHTML = "";
    for (const [kind, words] of stage.legend) {
      const item = document.createElement("span"), mark = document.createElement("i");
      const colours = matchMedia("(prefers-color-scheme: dark)").matches ? data.dark : data.colours;
      const colour = colours[kind] || colours.forward;
      if (kind === "residual") mark.className = "line";
      else if (data.marks[kind]) { mark.className = "mark"; mark.textContent = data.marks[kind][0]; mark.style.background = data.marks[kind][1]; }
      else if (kind === "removed") { mark.className = "mark gone"; mark.textContent = "−"; }
      else if (kind === "nest") mark.style.background = "#e76f51";
      else { mark.style.background = colour[0]; mark.style.borderColor = colour[1]; }
      if (kind === "inlined") mark.style.borderStyle = "dashed";
      item.append(mark, words);
      place.append(item);
    }
  }

  // What the pass before this stage did: counts, to be shown in the graph, and what it took away.
  function changes() {
    const place = $("changes"), [added, rewritten, removed] = stage.changes;
    place.innerHTML = "";
    if (!added && !rewritten && !removed) return;
    const head = document.createElement("p"), list = document.createElement("ul");
    head.append(`since ${stage.since}: `);
    const button = (count, words, change) => {
      if (!count) return;
      const b = Object.assign(document.createElement("button"), {textContent: `${count} ${words}`, title: "show them in the graph"});
      b.addEventListener("click", () => changed(change));
      head.append(b, " ");
    };
    button(added, "new", "added");
    button(rewritten, "rewritten", "rewritten");
    if (removed) head.append(`${removed} removed:`);
    for (const [text, line] of stage.removed) {
      const li = document.createElement("li");
      li.textContent = text;
      if (line) li.addEventListener("click", () => lines([line], true));
      list.append(li);
    }
    place.append(head, list);
  }

  function changed(change) {
    choose(null);
    const ids = Object.keys(stage.nodes).filter(id => stage.nodes[id].change === change && !stage.nodes[id].part);
    mark(ids);
    $("hits").textContent = `${ids.length} ${data.marks[change][2]}`;
    if (ids.length) centre(ids[0]);
  }

  // ---------------------------------------------------------------- closing and opening

  // Every box with its element, its level and what it holds; every arrow with its path.
  function collect(level, element, holder) {
    const groups = [...element.children].filter(c => c.classList.contains("node"));
    const paths = [...element.children].filter(c => c.tagName === "path");
    level.boxes.forEach((box, n) => {
      const g = groups[n];
      boxes[box.id] = {...box, g, level, holder, open: {w: box.w, h: box.h}};
      const panels = [...g.children].filter(c => c.classList.contains("panel"));
      box.panels.forEach((panel, m) => {
        panel.g = panels[m];
        panel.rect = panels[m].querySelector("rect.region");
        panel.inner = panels[m].lastElementChild;
        collect(panel.inside, panel.inner, box.id);
      });
      if (box.panels.length) {
        const mark = document.createElementNS("http://www.w3.org/2000/svg", "text");
        mark.setAttribute("class", "fold");
        g.append(mark);
        boxes[box.id].mark = mark;
        mark.addEventListener("click", e => { e.stopPropagation(); toggle(box.id); });
      }
    });
    level.arrows.forEach((a, n) => arrows.push({path: paths[n], level, from: a[0], to: a[1], begin: a[2], end: a[3], lanes: a[4]}));
  }

  function toggle(id) {
    closed.has(id) ? closed.delete(id) : closed.add(id);
    arrange();
  }

  // Sizes from the inside out, then rows from above to below, then arrows.
  function arrange() {
    place(stage.layout);
    for (const a of arrows) draw(a);
  }

  function place(level) {
    for (const l of level.boxes) {
      const box = boxes[l.id];
      if (!l.panels.length) continue;
      const shut = closed.has(l.id);
      let high = 0;
      for (const panel of l.panels) {
        panel.g.style.display = shut ? "none" : "";
        if (!shut) high = Math.max(high, place(panel.inside) + 18 + 24);
      }
      for (const panel of l.panels) panel.rect.setAttribute("height", high);
      box.w = shut ? Math.min(box.open.w, l.shut) : box.open.w;
      box.h = shut ? l.head : l.head + high + 12;
      const rect = box.g.querySelector("rect");
      rect.setAttribute("width", box.w);
      rect.setAttribute("height", box.h);
      box.mark.textContent = shut ? "▸ open" : "▾ close";
      box.mark.setAttribute("x", box.w - 54);
      box.mark.setAttribute("y", 17);
      for (const m of box.g.querySelectorAll(":scope > .nest")) m.style.display = shut ? "none" : "";
    }
    const rows = level.rows.map(() => 0);
    for (const l of level.boxes) rows[l.row] = Math.max(rows[l.row], boxes[l.id].h);
    level.now = [];
    let at = 0;
    rows.forEach((high, n) => {
      level.now.push([at, at + high]);
      at += high + (n + 1 < rows.length ? level.rows[n + 1][0] - level.rows[n][1] : 0);
    });
    for (const l of level.boxes) {
      const box = boxes[l.id];
      box.top = level.now[l.row][0];
      box.g.setAttribute("transform", `translate(${box.x - box.w / 2},${box.top})`);
    }
    return at;
  }

  function draw(a) {
    if (!a.level.now) return;  // in something that was never open
    const from = boxes[a.from], to = boxes[a.to];
    const inside = (v, box) => Math.max(-box.w / 2 + 6, Math.min(box.w / 2 - 6, v));
    let x = from.x + inside(a.begin, from), y = from.top + from.h;
    const parts = [`M${x},${y}`];
    const curve = (to, bottom) => {
      if (Math.abs(x - to) < 0.05) parts.push(`V${bottom}`);
      else {
        const bend = Math.max(8, (bottom - y) / 2);
        parts.push(`C${x},${y + bend} ${to},${bottom - bend} ${to},${bottom}`);
      }
    };
    const floor = a.level.now[from.row][1];
    if (floor > y + 1) { parts.push(`V${floor}`); y = floor; }
    a.lanes.forEach((lane, n) => {
      const [top, bottom] = a.level.now[from.row + 1 + n];
      curve(lane, top);
      parts.push(`V${bottom}`);
      x = lane; y = bottom;
    });
    curve(to.x + inside(a.end, to), to.top);
    a.path.setAttribute("d", parts.join(""));
  }

  // ---------------------------------------------------------------- moving about

  function apply() { world.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.k})`); }

  // The left and the right end of boxes.
  function ends(some) {
    let left = Infinity, right = -Infinity;
    for (const b of some) { left = Math.min(left, b.x - b.w / 2); right = Math.max(right, b.x + b.w / 2); }
    return some.length ? [left, right] : [0, 1];
  }

  function look([left, right], k) {
    const spare = canvas.clientWidth - (right - left) * k;
    view = {x: Math.max(spare / 2, 20) - left * k, y: 20, k};
    apply();
  }

  // Everything, however small it is then.
  function fit() {
    const high = stage.layout.now.length ? stage.layout.now[stage.layout.now.length - 1][1] : 1;
    const all = ends(stage.layout.boxes.map(l => boxes[l.id])), below = $("legend").offsetHeight + 50;
    look(all, Math.min((canvas.clientWidth - 40) / Math.max(all[1] - all[0], 1),
      (canvas.clientHeight - below) / Math.max(high, 1), 1.25));
  }

  // Everything if it can be read then, else what fits at a size that can: all columns, or those of the first rows.
  function begin() {
    fit();
    const readable = 0.62, room = canvas.clientWidth - 40, all = stage.layout.boxes.map(l => boxes[l.id]);
    if (view.k >= readable) return;
    let across = ends(all);
    if ((across[1] - across[0]) * readable > room) across = ends(all.filter(b => b.row < 4));
    look(across, Math.max(readable, Math.min(0.9, room / Math.max(across[1] - across[0], 1))));
  }

  function zoom(factor, cx, cy) {
    const k = Math.min(6, Math.max(0.01, view.k * factor));
    view.x = cx - (cx - view.x) * k / view.k;
    view.y = cy - (cy - view.y) * k / view.k;
    view.k = k;
    apply();
  }

  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    const r = canvas.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0016)), e.clientX - r.left, e.clientY - r.top);
  }, {passive: false});
  let drag = null, moved = false;
  canvas.addEventListener("pointerdown", e => { drag = {x: e.clientX - view.x, y: e.clientY - view.y, sx: e.clientX, sy: e.clientY}; moved = false; });
  window.addEventListener("pointermove", e => {
    if (!drag) return;
    if (Math.hypot(e.clientX - drag.sx, e.clientY - drag.sy) > 3) { moved = true; canvas.classList.add("moving"); }
    if (moved) { view.x = e.clientX - drag.x; view.y = e.clientY - drag.y; apply(); }
  });
  window.addEventListener("pointerup", () => { drag = null; canvas.classList.remove("moving"); });
  canvas.addEventListener("click", e => {
    if (moved) return;
    const g = e.target.closest(".node");
    choose(g ? g.id : null, true);
  });
  canvas.addEventListener("dblclick", e => {
    const g = e.target.closest(".node");
    if (g && boxes[g.id] && boxes[g.id].panels.length) toggle(g.id);
  });

  // Loops and branches that hold a box are opened before it is looked at.
  function centre(id) {
    let shut = false, x = 0, y = 0;
    for (let up = boxes[id].holder; up; up = boxes[up].holder) shut = closed.delete(up) || shut;
    if (shut) arrange();
    const r = canvas.getBoundingClientRect(), g = boxes[id].g.getBoundingClientRect();
    x = g.left + g.width / 2 - r.left; y = g.top + Math.min(g.height, 80) / 2 - r.top;
    if (x < 20 || y < 20 || x > r.width - 20 || y > r.height - 60) {
      view.x += r.width / 2 - x; view.y += r.height / 2 - y;
      apply();
    }
  }

  // ---------------------------------------------------------------- choosing

  function choose(id, scroll) {
    for (const g of world.querySelectorAll(".chosen")) g.classList.remove("chosen");
    for (const e of world.querySelectorAll(".near")) e.classList.remove("near");
    world.classList.toggle("tracing", !!id);
    chosen = id;
    const node = id && stage.nodes[id];
    if (node) {
      boxes[id].g.classList.add("chosen");
      for (const a of arrows) if (a.from === id || a.to === id) a.path.classList.add("near");
      details(node);
    }
    lines(node && node.line ? [node.line] : [], scroll);
  }

  function details(node) {
    const place = $("details");
    place.innerHTML = "";
    const add = (tag, text) => { const e = document.createElement(tag); e.textContent = text; place.append(e); return e; };
    add("h2", node.label);
    if (node.text) add("pre", node.text);
    const table = document.createElement("table");
    const row = (name, value) => {
      const tr = table.insertRow();
      tr.insertCell().textContent = name;
      tr.insertCell().textContent = value;
    };
    for (const [name, user, type, bytes, residual, stored] of node.ports) {
      const size = bytes === null ? "" : `, ${bytes.toLocaleString()} bytes`;
      row(user || name, type + size + (residual ? ", kept for the derivative" : "") + (stored ? ", " + stored : ""));
    }
    if (node.change && !node.part) row(data.marks[node.change][2], node.was ? "it was " + node.was : "since " + stage.since);
    if (node.line) row("line", node.line[0].split(/[\\/]/).pop() + ":" + node.line[1]);
    if (node.kind === "equation") row("made by", ["the program", "reverse mode", "reverse mode, twice"][Math.min(node.order, 2)]);
    if (node.nests.length > 1 && !node.part) row("loop nests", node.nests.join(", ") + ": computed again in each");
    for (const nest of node.nests) if (stage.costs[nest]) row("loop nest " + nest, stage.costs[nest]);
    if (node.effects.length) row("effects", node.effects.join(", "));
    for (const [key, value] of Object.entries(node.params)) row(key, value);
    place.append(table);
  }

  // ---------------------------------------------------------------- the source

  function write() {
    const place = $("source");
    for (const file of data.files) {
      const head = document.createElement("h3"), list = document.createElement("ol"), used = new Set(file.used);
      head.textContent = file.file;
      file.lines.forEach((text, n) => {
        const number = file.first + n, li = document.createElement("li"), b = document.createElement("b");
        b.textContent = number;
        li.append(b, text || " ");
        li.dataset.place = file.file + ":" + number;
        if (used.has(number)) {
          li.className = "used";
          li.addEventListener("click", () => choose_line(file.file, number));
        }
        list.append(li);
      });
      place.append(head, list);
    }
  }

  function lines(places, scroll) {
    for (const li of document.querySelectorAll("#source li.chosen")) li.classList.remove("chosen");
    for (const [file, number] of places) {
      const li = [...document.querySelectorAll("#source li")].find(l => l.dataset.place === file + ":" + number);
      if (!li) continue;
      li.classList.add("chosen");
      if (scroll) li.scrollIntoView({block: "nearest"});
    }
  }

  function choose_line(file, number) {
    choose(null);
    const ids = Object.keys(stage.nodes).filter(id => {
      const line = stage.nodes[id].line;
      return line && line[0] === file && line[1] === number;
    });
    mark(ids);
    $("hits").textContent = `${ids.length} on line ${number}`;
    if (ids.length) centre(ids[0]);
    lines([[file, number]]);
  }

  // ---------------------------------------------------------------- searching

  function mark(ids) {
    for (const g of world.querySelectorAll(".found,.holds")) g.classList.remove("found", "holds");
    world.classList.toggle("searching", ids.length > 0);
    for (const id of ids) {
      boxes[id].g.classList.add("found");
      for (let up = boxes[id].holder; up; up = boxes[up].holder) boxes[up].g.classList.add("holds");
    }
  }

  let hits = [], hit = -1;
  function search() {
    const wanted = $("search").value.trim().toLowerCase();
    hits = [];
    if (wanted) for (const [id, n] of Object.entries(stage.nodes)) {
      const text = [n.label, n.text, ...n.ports.map(p => p[1] + " " + p[2]), n.line ? ":" + n.line[1] : ""].join(" ");
      if (text.toLowerCase().includes(wanted)) hits.push(id);
    }
    hit = -1;
    mark(hits);
    $("hits").textContent = wanted ? `${hits.length} found` : "";
  }
  $("search").addEventListener("input", () => { search(); if (hits.length) centre(hits[0]); });
  $("search").addEventListener("keydown", e => {
    if (e.key !== "Enter" || !hits.length) return;
    hit = (hit + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
    choose(hits[hit], true);
    centre(hits[hit]);
  });

  // ---------------------------------------------------------------- buttons and keys

  const step = by => { const n = +$("slider").value + by; if (data.order[n]) show(data.order[n], true); };
  $("before").addEventListener("click", () => step(-1));
  $("after").addEventListener("click", () => step(1));
  $("slider").addEventListener("input", () => show(data.order[+$("slider").value], true));
  $("fit").addEventListener("click", fit);
  $("close").addEventListener("click", () => { for (const id in boxes) if (boxes[id].panels.length) closed.add(id); arrange(); begin(); });
  $("open").addEventListener("click", () => { closed.clear(); arrange(); begin(); });
  window.addEventListener("keydown", e => {
    if (e.target.tagName === "INPUT") return;
    const r = canvas.getBoundingClientRect(), keys = {
      "[": () => step(-1), "]": () => step(1), "f": fit, "+": () => zoom(1.2, r.width / 2, r.height / 2),
      "-": () => zoom(1 / 1.2, r.width / 2, r.height / 2), "/": () => { $("search").focus(); e.preventDefault(); },
      "Escape": () => { $("search").value = ""; search(); choose(null); },
    };
    if (keys[e.key] && !e.ctrlKey && !e.metaKey) keys[e.key]();
  });

  $("name").textContent = data.name || "a program";
  write();
  show(data.stage);
  // A page in something that is closed has no size until that is opened.
  let seen = canvas.clientWidth > 0;
  new ResizeObserver(() => { if (!seen && canvas.clientWidth > 0) { seen = true; begin(); } }).observe(canvas);
})();
