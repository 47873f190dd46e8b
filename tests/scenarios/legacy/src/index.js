// Reads gauge files and prints a page of high and low water for each harbour.
const fs = require("fs");

function corrected(level, pressure) {
  // One hectopascal below the mean lifts the water by a centimetre.
  return level + (1013 - pressure) / 100;
}

for (const name of process.argv.slice(2)) {
  const lines = fs.readFileSync(name, "utf8").trim().split("\n");
  for (const line of lines) {
    const [time, level, pressure] = line.split(" ");
    console.log(name, time, corrected(Number(level), Number(pressure)).toFixed(2));
  }
}
