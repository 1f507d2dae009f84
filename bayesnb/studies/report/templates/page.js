// A click on a column's header, or Enter or Space, sorts the rows by that column; a second one reverses the order.
"use strict";

for (const table of document.querySelectorAll("table")) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(table, column));
    header.append(button);
  });
}

// the paragraph that a link leads to may be folded
addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1)), folded = target?.closest("details:not([open])");
  if (folded) folded.open = true, target.scrollIntoView();
});

function sort(table, column) {
  const headers = [...table.tHead.rows[0].cells];
  const descending = headers[column].getAttribute("aria-sort") === "ascending";
  headers.forEach((header, i) => {
    const order = i !== column ? "none" : descending ? "descending" : "ascending";
    header.setAttribute("aria-sort", order);
  });
  const rows = [...table.tBodies[0].rows];
  const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column])]));
  rows.sort((a, b) => compare(keys.get(a), keys.get(b), descending ? -1 : 1));
  table.tBodies[0].append(...rows);
}

// a number if the cell has one, otherwise its text; null if it is empty
function keyOf(cell) {
  const value = cell.dataset.value;
  if (value === undefined) return cell.textContent.trim() || null;
  return value === "" ? null : Number(value);
}

function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);  // empty cells come last in either order
  return direction * (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
}
