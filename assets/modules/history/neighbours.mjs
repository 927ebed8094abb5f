/** The rows that keys lead to. Pure functions. */

/**
 * @param {import("./layout.mjs").HistoryLayout} layout @param {number} number of the row that has the focus
 * @param {string} key @returns {number|null} the number of a row, -1 where there is none; null for another key
 */
export function findNeighbour({ rows, forks }, number, key) {
  if (key === "ArrowUp") return rows[number].up;
  if (key === "ArrowDown") return rows[number].down;
  if (key === "ArrowLeft") return findOnLeft(rows, number);
  if (key === "ArrowRight") return findOnRight(rows, number);
  if (key === "Home") return 0;
  if (key === "End") return rows.length - 1;
  return key === "n" ? findNextFork(forks, number) : null;
}

/** Find the place on another branch that this branch begins at. */
function findOnLeft(rows, number) {
  let found = number;
  while (found >= 0 && rows[found].lane >= rows[number].lane) found = rows[found].up;
  return found;
}

/** Find the nearest row on the next branch to the right. */
function findOnRight(rows, number) {
  const wanted = rows[number].lane + 1;
  for (let distance = 1; distance < rows.length; distance += 1) {
    for (const found of [number + distance, number - distance]) if (rows[found]?.lane === wanted) return found;
  }
  return -1;
}

/** Find the next row that a branch forks from; after the last one, the first. */
const findNextFork = (forks, number) => forks.find((from) => from > number) ?? forks[0] ?? -1;
