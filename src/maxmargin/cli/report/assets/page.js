/* What the page does when pressed: theme, tabs, sorting, more rows, filters, hints. Without it all is shown. */
(() => {
  const make = charts.make;

  function theme() {
    const root = document.documentElement, key = "maxmargin-theme";
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    let chosen = null;
    try { chosen = localStorage.getItem(key); } catch { /* not allowed for files in some browsers */ }
    const button = make("button", { type: "button", class: "plain", id: "theme" });
    const isDark = () => (chosen ? chosen === "dark" : dark.matches);
    const apply = () => {
      if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    };
    button.addEventListener("click", () => {
      chosen = isDark() ? "light" : "dark";
      try { localStorage.setItem(key, chosen); } catch { /* then it lasts as long as the page */ }
      apply();
    });
    dark.addEventListener("change", apply);
    document.querySelector("nav").append(button);
    apply();
  }

  /* Sections side by side become tabs. */
  function tabs(box, index) {
    const panels = [...box.querySelectorAll(":scope > .panel")];
    if (panels.length < 2) return;
    box.classList.add("tabbed");
    const list = make("div", { role: "tablist", "aria-label": "Sets of data" });
    const buttons = panels.map((panel, k) => {
      panel.id = `panel-${index}-${k}`;
      panel.setAttribute("role", "tabpanel");
      const button = make("button", { type: "button", role: "tab", id: `tab-${index}-${k}`, "aria-controls": panel.id });
      button.textContent = panel.querySelector("h3").textContent;
      panel.setAttribute("aria-labelledby", button.id);
      return button;
    });
    const choose = (chosen, focus) => {
      panels.forEach((panel, k) => {
        panel.classList.toggle("off", k !== chosen);
        buttons[k].setAttribute("aria-selected", k === chosen);
        buttons[k].tabIndex = k === chosen ? 0 : -1;
      });
      if (focus) buttons[chosen].focus();
    };
    buttons.forEach((button, k) => {
      button.addEventListener("click", () => choose(k, false));
      button.addEventListener("keydown", (event) => {
        const n = buttons.length;
        const next = { ArrowRight: (k + 1) % n, ArrowLeft: (k + n - 1) % n, Home: 0, End: n - 1 }[event.key];
        if (next === undefined) return;
        event.preventDefault();
        choose(next, true);
      });
    });
    list.append(...buttons);
    box.prepend(list);
    choose(Math.max(0, panels.findIndex((panel) => panel.dataset.name === box.dataset.first)), false);
  }

  const sortKey = (row, k) => {
    const cell = row.cells[k];
    if (!cell) return null;
    if (cell.dataset.v !== undefined) return cell.dataset.v === "" ? null : Number(cell.dataset.v);
    return cell.textContent;
  };

  function compare(a, b) {
    if (a === null || b === null) return a === b ? 0 : null;
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function sortable(table, refresh) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, k) => {
      const button = make("button", { type: "button" });
      button.append(...head.childNodes);
      button.querySelectorAll("[tabindex]").forEach((node) => node.removeAttribute("tabindex")); // the button has the focus
      head.append(button);
      button.addEventListener("click", () => {
        const numeric = head.classList.contains("n");
        const now = head.getAttribute("aria-sort");
        const down = now ? now === "ascending" : numeric;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: sortKey(row, k) }));
        rows.sort((a, b) => {
          const order = compare(a.key, b.key);
          if (order === null) return a.key === null ? 1 : -1; // what is not known comes last
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows.map((own) => own.row));
        refresh();
      });
    });
  }

  /* The first few of many, a button for the rest and a field to filter by. */
  function folded(box, first, what, items, groups = null) {
    let open = false, words = "", group = "";
    const many = items().length;
    const input = make("input", { type: "search", placeholder: `find in ${many} ${what}`, "aria-label": `Find in ${what}` });
    const told = make("span", { role: "status" });
    const button = make("button", { type: "button", class: "plain more" });
    const refresh = () => {
      let found = 0, shown = 0;
      for (const item of items()) {
        const fits = (!words || item.textContent.toLowerCase().includes(words)) && (!group || groups(item) === group);
        found += fits;
        const on = fits && (open || words || group || shown < first);
        shown += on ? 1 : 0;
        item.classList.toggle("off", !on);
      }
      told.textContent = words || group ? `${found} found` : "";
      button.textContent = open ? `Show the first ${first}` : `Show all ${many}`;
      button.setAttribute("aria-expanded", open);
      button.hidden = Boolean(words || group);
    };
    input.addEventListener("input", () => { words = input.value.trim().toLowerCase(); refresh(); });
    button.addEventListener("click", () => { open = !open; refresh(); });
    const bar = make("div", { class: "filter" }, input);
    const names = groups ? [...new Set(items().map(groups))] : [];
    if (names.length > 1 && names.length * 3 <= many) {
      const select = make("select", { "aria-label": "Only rows of" }, make("option", { value: "" }, "all"));
      names.forEach((name) => select.append(make("option", { value: name }, name)));
      select.addEventListener("change", () => { group = select.value; refresh(); });
      bar.append(select);
    }
    bar.append(told);
    box.before(bar);
    box.after(make("p", { class: "more note" }, button));
    refresh();
    return refresh;
  }

  function tables() {
    for (const box of document.querySelectorAll(".table")) {
      const table = box.querySelector("table"), scroll = box.querySelector(".scroll");
      let refresh = () => {};
      if (box.dataset.first) refresh = folded(scroll, Number(box.dataset.first), "rows", () => [...table.tBodies[0].rows], (row) => row.cells[0].textContent);
      if (table.tBodies[0] && table.tBodies[0].rows.length > 1) sortable(table, () => refresh());
    }
    for (const box of document.querySelectorAll(".samples[data-first]")) {
      folded(box, Number(box.dataset.first), "samples", () => [...box.children]);
    }
  }

  /* Titles as hints that fingers and keyboards reach too. */
  function hints() {
    const hint = make("div", { class: "hint", role: "tooltip", id: "hint", hidden: true });
    document.body.append(hint);
    document.querySelectorAll("[title]").forEach((node) => {
      node.dataset.hint = node.title;
      node.removeAttribute("title");
    });
    let held = null; // what has the focus keeps its hint while the page scrolls to it
    const show = (node) => {
      hint.hidden = !node;
      if (!node) return;
      hint.textContent = node.dataset.hint;
      hint.style.left = "0px";
      const box = node.getBoundingClientRect(), wide = document.documentElement.clientWidth;
      const left = Math.max(4, Math.min(wide - hint.offsetWidth - 4, box.left + box.width / 2 - hint.offsetWidth / 2));
      hint.style.left = left + window.scrollX + "px";
      hint.style.top = box.top + window.scrollY - hint.offsetHeight - 6 + "px";
    };
    const point = (event) => show(event.target instanceof Element ? event.target.closest("[data-hint]") : null);
    document.addEventListener("pointerover", point);
    document.addEventListener("pointerdown", point);
    document.addEventListener("focusin", ({ target }) => {
      held = target.closest("[data-hint]") || (target.matches("th button") ? target.querySelector("[data-hint]") : null);
      if (held) target.setAttribute("aria-describedby", hint.id);
      show(held);
    });
    document.addEventListener("focusout", () => { held = null; show(null); });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") { held = null; show(null); } });
    document.addEventListener("scroll", () => show(held), true);
  }

  /* The section that is being read, marked in the list of sections. */
  function here() {
    const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        links.forEach((a) => a.removeAttribute("aria-current"));
        links.get(entry.target.id).setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-20% 0px -70% 0px" });
    document.querySelectorAll("main > section").forEach((section) => watch.observe(section));
  }

  function paper() {
    let opened = [];
    window.addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("details:not([open])")];
      opened.forEach((box) => { box.open = true; });
    });
    window.addEventListener("afterprint", () => opened.forEach((box) => { box.open = false; }));
  }

  theme();
  document.querySelectorAll(".tabs").forEach(tabs);
  tables();
  hints();
  charts.start();
  here();
  paper();
})();
