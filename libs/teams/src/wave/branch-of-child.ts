/** Where unmerged work of a child is found in later workspaces (D22): one name per member and Wave. */
export function branchOfChild(member: string, wave: string): string {
  return `longshore/${member}-${wave.slice(0, 8)}`;
}
