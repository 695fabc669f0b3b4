/** Every limit of an input, in one place. Bytes are UTF-8 bytes, times are milliseconds unless the name says otherwise. */
export const limits = {
  // leases (design of the claim protocol)
  leaseMs: 30_000,
  heartbeatMs: 10_000,
  beatRetryMs: 2_000,
  sweepMs: 1_000,
  pollMs: 5_000,
  claimWaitSeconds: 20,
  claimBatch: 16,
  beatLeases: 256,
  claimReplyBytes: 128 * 1024,
  payloadBytes: 4 * 1024,
  resultBytes: 1024 * 1024,
  failDetailBytes: 4096,
  progressBytes: 16 * 1024,
  startAttempts: 5,
  recoveries: 2,
  /** A rate limit that did not say how long it lasts. */
  limitedRetryMs: 60_000,
  /** Until an account whose login or key was refused is tried again though nothing was changed. */
  accountRefusedMs: 15 * 60_000,
  /** Whatever a provider says: after a week it is asked again. */
  limitedRetryMostMs: 7 * 86_400_000,
  tries: 5,
  handoverReminders: 3,
  silenceMs: 45 * 60_000,
  sweepSilenceMs: 50 * 60_000,
  environmentFailuresToQuarantine: 3,
  ringAllAfterMs: 1_000,
  preferMs: 2_000,
  // tokens
  workerTokenSeconds: 15 * 60,
  personTokenSeconds: 60 * 60,
  agentTokenSeconds: 10 * 60,
  joinTicketSeconds: 10 * 60,
  clockSkewSeconds: 30,
  /** How long others may keep the keys that we publish. */
  jwksCacheSeconds: 300,
  /** Age at which the signing key is followed by the next one. */
  keyRotationDays: 30,
  keyRotationMostDays: 3_650,
  // people
  passwordCharsLeast: 12,
  passwordBytes: 1024,
  /** Password checks at once, and those that may wait for one: each takes 19 MiB. */
  passwordChecks: 2,
  passwordChecksWaiting: 64,
  setupPasswordSeconds: 7 * 86_400,
  browserSessionSeconds: 7 * 86_400,
  browserIdleSeconds: 12 * 3_600,
  cliSessionSeconds: 90 * 86_400,
  cliIdleSeconds: 30 * 86_400,
  /** The oldest ends when one more is made. */
  sessionsPerPerson: 64,
  deviceCodeSeconds: 10 * 60,
  devicePollSeconds: 5,
  /** Device logins that one address may have open. */
  deviceLoginsPerAddress: 32,
  serviceTokenDaysMost: 366,
  serviceTokensPerPerson: 100,
  /** When something was used last is written so often at most. */
  lastUseSeconds: 60,
  // consent; the farm's file may set these three
  confirmTtlSeconds: 300,
  pendingConfirmations: 64,
  proposalChangesShown: 20,
  /** How long a person may take to approve what an agent proposed. */
  approvalSeconds: 24 * 3600,
  // agents
  agentKinds: 32,
  agentSlots: 64,
  // processes
  stopGraceMs: 10_000,
  /** Processes and threads of one session. */
  sandboxPids: 2048,
  sandboxMemoryBytes: 8 * 1024 ** 3,
  /** Before a host that a session asks for counts as away. */
  egressConnectMs: 10_000,
  /** Of one session at once: its connections to the proxy and the proxy's onward, together. */
  egressConnections: 256,
  /** Of one session to its member door at once. */
  memberDoorConnections: 64,
  drainMs: 120_000,
  // providers
  /** One event's text; longer is cut and says so. */
  providerTextChars: 16 * 1024,
  /** One line of a provider's stream; a longer one is skipped without being held. */
  providerLineBytes: 1024 * 1024,
  /** Events that wait for their reader before the provider is held up. */
  providerEvents: 256,
  providerStderrBytes: 16 * 1024,
  /** Name of a model. */
  modelChars: 128,
  // messages (N1 to N9 of docs/specification)
  promptBytes: 64 * 1024,
  files: 32,
  pathBytes: 4096,
  fileDescription: 1024,
  /** Of a folder that is worked in as it is: it goes along with each job. */
  inPlacePathBytes: 1024,
  checkpointSummary: 2048,
  checkpointDetailsBytes: 64 * 1024,
  planSteps: 9,
  planStep: 512,
  planExplanation: 1024,
  /** Both lanes of a prompt, when every text in it is as long as it may be and all of it must be escaped. */
  requestBytes: 2 * 1024 * 1024,
  workflowBytes: 1024 * 1024,
  workflowNesting: 32,
  workflowNodes: 4096,
  workflowMembers: 256,
  workflowDepth: 12,
  workflowChildren: 32,
  workflowId: 128,
  workflowDescription: 1024,
  workflowNote: 8192,
  memberTitle: 255,
  memberProse: 16_384,
  /** Draws of a short id before somebody is told that none is free (N9). */
  idTries: 128,
  /** Dispatches of one Task that are leased or to be had at once; more wait (`waiting: lanes`). */
  lanesPerTask: 32,
  /** A lane that no machine took for so long goes to who waits for one. */
  laneUnusedMs: 30_000,
  retriesPerAssignment: 1,
  childAssignmentsPerAssignment: 20,
  waveMembers: 8,
  /** Unmerged branches that are laid into a workspace. */
  unmergedBranches: 8,
  /** A member's folder of notes, as it goes from one Dispatch to the next. */
  noteFiles: 64,
  noteFileBytes: 65_536,
  notesBytes: 1_048_576,
  // human requests
  humanItems: 3,
  humanOptions: 3,
  humanOptionTitle: 255,
  humanOptionDescription: 1024,
  humanPrompt: 4096,
  humanSummary: 2048,
  humanSchemaBytes: 64 * 1024,
  humanSchemaDepth: 16,
  humanSchemaCollections: 1024,
  humanAnswerBytes: 64 * 1024,
  // event streams
  streamsPerPrincipal: 16,
  /** So often a stream looks whether its reader may still read. */
  streamCheckMs: 3_000,
  // steering
  /** One message to a member at work (N7). */
  steerMessage: 4096,
  steersPerAssignment: 32,
  /** A beat and a little more: what is not told by then is told later. */
  steerWaitMs: 12_000,
  // git
  sourceBytes: 1024 ** 3,
  packBytes: 1024 ** 3,
  packInflatedBytes: 2 * 1024 ** 3 - 1,
  packObjects: 500_000,
  gitSeconds: 600,
  /** One fetch from an origin. */
  fetchSeconds: 1_800,
  /** Before a check of a repository answers. */
  checkSeconds: 30,
  /** Tasks for which one controller asks origins at once, beside those of `preparingAtOnce`. */
  fetchingAtOnce: 4,
  /** A mirror that no Task used for so long goes. */
  mirrorUnusedMs: 14 * 86_400_000,
  repositories: 1_000,
  repositoryUrl: 2048,
  repositoryCommand: 8192,
  repositoryEgress: 64,
  repositoryVariables: 64,
  repositoryVariableBytes: 4096,
  repositorySecretBytes: 16 * 1024,
  /** Submodules of one base, at all levels; files of their histories together; how deep one may lie in another. */
  submodules: 64,
  submodulesBytes: 4 * 1024 ** 3,
  submoduleLevels: 4,
  /** One file of git-lfs, all those that one Task works with, and how many. */
  lfsObjectBytes: 1024 ** 3,
  lfsBytes: 4 * 1024 ** 3,
  lfsObjects: 5_000,
  /** Objects that an LFS server is asked for at once. */
  lfsBatch: 100,
  lfsBatchReplyBytes: 4 * 1024 ** 2,
  sourceObjects: 5_000_000,
  workspaceBytes: 1024 ** 3,
  storeBytes: 16 * 1024 ** 3,
  diskFloorBytes: 512 * 1024 ** 2,
  /** What one session, command or setup command may add to the disk of its worker. */
  sessionDiskBytes: 16 * 1024 ** 3,
  /** Between two looks at that, at least. */
  growthLookMs: 2_000,
  /** What one worker's templates, repositories and kept workspaces may take together. */
  workerCacheBytes: 20 * 1024 ** 3,
  /** A workspace whose Assignment does not go on here. */
  keptWorkspaceMs: 24 * 3_600_000,
  /** A template, or the repository of a base, that no workspace was laid above. */
  templateUnusedMs: 7 * 86_400_000,
  gitMemoryBytes: 4 * 1024 ** 3,
  gitOutputBytes: 256 * 1024 ** 2,
  /** Tasks whose sources one controller makes ready at once. */
  preparingAtOnce: 4,
  /** Waves that one controller joins at once: one whose merge takes long holds up no other. */
  joiningAtOnce: 4,
  uploadExpiresMs: 3_600_000,
  /** Checkouts that a principal has uploaded and that no Task has taken in yet. */
  uploadedBytesPerPrincipal: 4 * 1024 ** 3,
  outputSegmentBytes: 1024 * 1024,
  /** Of one lease. A day of single lines stays below it: workers send fewer segments as time goes on. */
  outputSegments: 65_536,
  /** Of one lease. */
  outputBytes: 4 * 1024 ** 3,
  /** Of all leases of a worker that began on one day (UTC). */
  outputBytesPerWorker: 64 * 1024 ** 3,
  // what a configuration may say at most (A3c.8)
  confirmTtlMostSeconds: 86_400,
  pendingConfirmationsMost: 10_000,
  proposalChangesMost: 1_000,
  mcpResultBytes: 256_000,
  mcpResultLeastBytes: 4_096,
  mcpResultMostBytes: 16 * 1024 ** 2,
  // plugins
  pluginTimeoutMs: 30_000,
  pluginTimeoutMostSeconds: 600,
  pluginPreviewMs: 5_000,
  /** Previews of one plugin that are waited for at once. */
  pluginPreviews: 2,
  /** Before a plugin that was told to stop is ended. */
  pluginGraceMs: 2_000,
  pluginStartMs: 10_000,
  pluginPingMs: 10_000,
  /** Pause before a plugin is started again, doubled each time, and the longest one. */
  pluginRestartMs: 1_000,
  pluginRestartMostMs: 60_000,
  // doors
  /** Of one person or agent at one controller. */
  callsPerMinute: 6_000,
  callsPerMinuteMost: 10_000_000,
  /** Of one address that asks for a credential: machines that all start at once behind one address among them. */
  signInsPerMinute: 1_200,
  bodyBytes: 2 * 1024 * 1024,
  fieldErrors: 20,
  pageMax: 100,
  /** Rows of the audit that one call checks. */
  auditVerifyRows: 100_000,
  /** Files that a Result lists; the total is told beside. */
  filesChanged: 500,
  // Command Runs
  commandBytes: 16 * 1024,
  commandArguments: 256,
  /** Characters of one argument. */
  commandArgument: 4096,
  commandSummary: 2048,
  /** How much of a command its result tells again. */
  commandToldBytes: 16 * 1024,
  /** A day: a command's time at most. */
  commandSeconds: 86_400,
  /** Time of a verify command that says none. */
  verifySeconds: 3600,
  /** Time of a repository's setup command. */
  setupSeconds: 1800,
  /** Between TERM and KILL of a command. */
  commandGraceMs: 2_000,
  /** The end of the output that a result shows. */
  commandTailBytes: 16 * 1024,
  outputPageBytes: 64 * 1024,
  /** Of one answer with bytes of an output. */
  outputAnswerBytes: 4 * 1024 ** 2,
  /** A command that two machines lost before it was started is not tried again (D15). */
  commandLaunches: 2,
  /** How long a command of a member waits for its warm machine while that is full (D15). */
  commandWarmMs: 60_000,
  /** Of its output in the workspace; the farm has all of it. */
  commandLogBytes: 64 * 1024 ** 2,
  // the overview of a Task (O11)
  /** Of each list. */
  overviewList: 20,
  /** Characters of a text, and of a name. */
  overviewExcerpt: 512,
  overviewName: 240,
  /** Characters of what is shown whole or not at all: the questions of a request, the files of a report. */
  overviewInline: 2048,
  // out
  /** A diff that is answered and not downloaded. */
  diffBytes: 1024 * 1024,
  pullRequestBytes: 64 * 1024,
  // webhooks
  webhooks: 50,
  webhookUrl: 2048,
  /** One delivery, from the name server's answer to the receiver's. */
  webhookTimeoutMs: 10_000,
  /** Of what a receiver says when it refuses. */
  webhookExcerptBytes: 256,
  /** Deliveries that one controller has under way. */
  webhooksAtOnce: 16,
  /** About half a day with the pauses between them; then a delivery is dead. */
  webhookTries: 15,
  /** Pause after the first try, doubled each time, and the longest one. Wall time. */
  webhookPauseMs: 5_000,
  webhookPauseMostMs: 4 * 3_600_000,
  /** What was delivered or taken back is forgotten after so long. */
  webhookKeptMs: 7 * 86_400_000,
  /** How long the link of a message answers its request, unless that is due before. */
  requestLinkSeconds: 7 * 86_400,
} as const;
