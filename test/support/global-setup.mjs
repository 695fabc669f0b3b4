import './typescript.mjs';

/** Called once per Jest project, so it must not mind being called again. */
export default async function setup() {
  const { startSharedServers } = await import('./shared-servers.ts');
  await startSharedServers();
}
