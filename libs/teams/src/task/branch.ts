/** The name that a Task's work has wherever it is fetched. */
export function branchOf(task: string): string {
  return `longshore/${task}`;
}
