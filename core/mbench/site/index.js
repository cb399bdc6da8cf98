// Filters the rows of the first page; the page's address holds the choice. Says how old results are.
"use strict";
(() => {
  const DAY = 864e5;
  const OLD = 90;
  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll(".matrix tbody tr")];
  const heads = [...document.querySelectorAll(".matrix thead th")];
  const boxes = [...form.querySelectorAll("[name=framework]")];
  const names = ["model", "mode", "precision", "device", "machine"];
  const FIRST = heads.length - boxes.length; // column of the first framework
  const age = (day) => Math.floor((Date.now() - Date.parse(day)) / DAY);

  for (const time of document.querySelectorAll("time")) {
    const days = age(time.textContent);
    if (!(days >= 0)) continue;
    time.title = `${days} days ago`;
    time.classList.toggle("old", days > OLD);
  }

  const shown = () => {
    const days = Number(form.elements.days.value);
    const answers = form.elements.answers.checked;
    const off = new Set(boxes.flatMap((box, at) => (box.checked ? [] : [FIRST + at])));
    heads.forEach((head, at) => { head.hidden = off.has(at); });
    let count = 0;
    for (const row of rows) {
      const cells = [...row.cells];
      cells.forEach((cell, at) => { cell.hidden = off.has(at); });
      const left = boxes.length ? cells.slice(FIRST).filter((cell) => !cell.hidden) : cells.slice(3);
      const full = left.some((cell) => cell.querySelector(answers ? "p:not(.none)" : "p"));
      const fits = names.every((name) => !form.elements[name].value || row.dataset[name] === form.elements[name].value);
      row.hidden = !full || !fits || (days > 0 && !(age(row.dataset.day) <= days));
      count += !row.hidden;
    }
    document.getElementById("count").textContent = `${count} of ${rows.length} rows.`;
  };

  const chosen = () => {
    const found = new URLSearchParams();
    for (const name of [...names, "days"]) if (form.elements[name].value) found.set(name, form.elements[name].value);
    if (form.elements.answers.checked) found.set("answers", "1");
    for (const box of boxes) if (!box.checked) found.append("without", box.value);
    return String(found);
  };

  const take = () => {
    const text = location.hash.slice(1);
    if (text && !text.includes("=")) return; // a section of the page
    const given = new URLSearchParams(text);
    for (const name of [...names, "days"]) {
      form.elements[name].value = given.get(name) ?? "";
      if (form.elements[name].selectedIndex < 0) form.elements[name].value = "";
    }
    form.elements.answers.checked = given.get("answers") === "1";
    const without = new Set(given.getAll("without"));
    for (const box of boxes) box.checked = !without.has(box.value);
    shown();
  };

  const keep = () => {
    const text = chosen();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    shown();
  };

  form.hidden = false;
  form.addEventListener("change", keep);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(keep));
  addEventListener("hashchange", take);
  shown();
  take();
})();
