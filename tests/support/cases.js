// Runs checks in node and prints the error of each by its name, empty if it passed: see `run_cases` of node.py.

export async function report(cases) {
  const told = {};
  for (const [name, check] of Object.entries(cases)) {
    try {
      await check(); // oxlint-disable-line no-await-in-loop -- one after the other
      told[name] = "";
    } catch (error) {
      told[name] = error.stack;
    }
  }
  console.log(JSON.stringify(told));
}
