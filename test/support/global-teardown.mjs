import './typescript.mjs';

export default async function teardown() {
  const { stopSharedServers } = await import('./shared-servers.ts');
  await stopSharedServers();
}
