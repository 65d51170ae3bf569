// Sorts a table by the column whose heading is pressed, and shows only the rows that hold the words of its filter.
for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  const key = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  table.querySelectorAll("th").forEach((head, at) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((one, two) => {
        const [a, b] = [key(one, at), key(two, at)];
        if (a === "" || b === "") return (a === "") - (b === "");
        const order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
}
for (const input of document.querySelectorAll("input[data-filters]")) {
  const rows = document.getElementById(input.dataset.filters).tBodies[0].rows;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

// On paper nothing can be opened: the changes are printed as they are.
addEventListener("beforeprint", () => {
  for (const closed of document.querySelectorAll("details")) closed.open = true;
});
