import type { ReactNode } from 'react';
import { phrase } from '../../shell/phrase.ts';

export const days = 'Days';
export const daysHint = 'Records that are older are moved.';
export const firstIndexToKeep = 'First index to keep';
export const firstIndexToKeepHint = 'Records before it are moved.';
export const aWholeNumber = 'A whole number.';
export const theArchiveMakesNoProgress = 'The archive makes no progress';
export const stoppedAtRecord = (archived: string) =>
  `It stopped at record ${archived}. What was moved stays moved; ask again later.`;
export const archived = 'Archived';
export const close = 'Close';
export const archiveRecords = 'Archive records';
export const archive = 'Archive';
export const archiveHint = (size: string) =>
  `The oldest of ${size} records leave the database for the archive files. Only whole tiles of 256 signed records are moved, and none comes back. The files must be kept: without them the records cannot be read.`;
export const whichRecords = 'Which records';
export const byAge = 'By age';
export const byIndex = 'By index';
export const typeToConfirm = (channel: string) => `Type ${channel} to confirm`;
export const movingRecords = 'Moving records …';
export const recordsArchivedOf = (archived: string, until: string) => `${archived} of ${until} records are archived.`;
export const recordsArchived = 'Records archived';
export const nothingToArchive = 'Nothing was moved: fewer than 256 signed records match.';
export const recordsInTheArchive = (last: string) => `Records 0 to ${last} are in the archive.`;
export const archiveIntro =
  'The oldest records of a channel can be moved to files. Their ids stay taken and their proofs valid; services that have the files still read and prove them.';
export const action = 'Action';
export const archiveRecordsOf = (channel: string) => `Archive records of ${channel}`;
export const notKnownHere = 'Not known here';
export const none = 'None';
export const allRecords = (count: string) => `All ${count}`;
export const recordsFromZero = (last: string) => `0 to ${last}`;
export const thisCannotBeChecked = 'This cannot be checked';
export const exportAndItsCheck = 'Export and its check';
export const exportHint =
  'The export has every event of the period From to To, whatever else is filtered, in signed pages that form a chain: a changed, inserted or missing event is found without this service. Events of the last minute are left out.';
export const checkAFile = 'Check a file';
export const saveTheSignedExport = 'Save the signed export';
export const cancelTheExport = 'Cancel the export';
export const eventsInPages = (events: string, pages: string) => `${events} events in ${pages} pages`;
export const exportList = 'Export';
export const exportCancelled = 'The export was cancelled. No file was saved.';
export const savedEvents = (name: string, events: string) =>
  `Saved ${name}: ${events} events. Checked in this browser:`;
export const fileTooLarge = (name: string) => `${name} is too large for a page. Use: sealgate-verify audit ${name}`;
export const isNoKeySet = (name: string) => `${name} is no key set.`;
export const chooseAFile = 'Choose a file';
export const clearTheExport = 'Clear the export';
export const olderExport = 'Older export';
export const clearTheOlderExport = 'Clear the older export';
export const keySet = 'Key set';
export const thatOfTheService = 'That of the service';
export const clearTheKeySet = 'Clear the key set';
export const check = 'Check';
export const checkHint =
  'With an older export, events that were removed or changed since then are found as well. A key set that was saved before makes the check independent of this service. The files stay in this browser.';
export const whichId = 'Which (id)';
export const requestId = 'Request id';
export const audit = 'Audit';
export const noServiceShowsYouItsAudit = 'No service shows you its audit';
export const auditIntro =
  'Who changed or exported what, newest first. An event that was edited in the database is marked.';
export const who = 'Who';
export const kind = 'Kind';
export const when = 'When';
export const what = 'What';
export const which = 'Which';
export const copyTheId = 'Copy the id';
export const details = 'Details';
export const request = 'Request';
export const copyTheRequestId = 'Copy the request id';
export const nothingMatchesTheseFilters = 'Nothing matches these filters';
export const nothingHappenedYet = 'Nothing happened yet';
export const notWrittenByTheService = 'Not written by the service';
export const changedAfterwards = 'Changed afterwards';
export const ofARemovedSecret = 'Of a removed secret';
export const unreadable = 'Unreadable';

/** Actions whose code says too little. */
export const auditActions: Readonly<Record<string, string>> = {
  'channel.archive': 'Archive a channel',
  'channel.declare-loss': 'Declare the loss of a channel',
  'list.export': 'Export a list',
  'secret.use': 'Use a new server secret',
  'source.look': 'Look at a kept delivery',
  'source.process': 'Process a delivery again',
  'source.test': 'Send a test delivery',
};

/** Every other action. */
export const auditAction = (verb: string, kind: string) => `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${kind}`;

/** Things that audits name; others are named by their code. */
export const auditKinds: Readonly<Record<string, string>> = {
  apiKey: 'API key',
  attachment: 'attachment',
  case: 'case',
  channel: 'channel',
  evidence: 'evidence',
  identity: 'identity',
  invitation: 'invitation',
  key: 'key',
  list: 'list',
  member: 'member',
  network: 'network',
  org: 'organisation',
  policy: 'policy',
  record: 'record',
  risk: 'risk',
  secret: 'secret',
  source: 'source',
  subject: 'subject',
  venue: 'venue',
};

export const service = 'Service';
export const losses = 'Losses';
export const lossesIntro =
  'A channel whose signed records are missing accepts no more until they are restored, or their loss is declared. A declaration is public and stays: the channel goes on in a new log that begins with it.';
export const channel = 'Channel';
export const state = 'State';
export const missing = 'Missing';
export const declared = 'Declared';
export const noChannelHasLostRecords = 'No channel has lost records';
export const noChannelHasLostRecordsHint = 'The integrator compares every channel with the checkpoints that it kept.';
export const declaredGoesOnInEpoch = (epoch: number) => `Declared, goes on in epoch ${epoch}`;
export const acceptsNoRecords = 'Accepts no records';
export const declaredGoesOnSoon = 'Declared, goes on soon';
export const found = (foundAt: ReactNode): ReactNode => phrase`found ${foundAt}`;
export const wholeUntil = (sharedAt: ReactNode): ReactNode => phrase`Whole until ${sharedAt}`;
export const restoreOrDeclare = (command: ReactNode): ReactNode =>
  phrase`Restore a database that has them, or declare the loss: ${command}`;
export const copyTheCommand = 'Copy the command';
export const notDeclared = 'Not declared';
export const declaredBy = (at: ReactNode, actor: ReactNode): ReactNode => phrase`${at} by ${actor}`;
export const entryAt = (index: string) => `Entry ${index}`;
export const entriesTo = (first: string, last: string) => `Entries ${first} to ${last}`;
export const lostOfTheFirstLog = (entries: string) => `${entries} of the first log`;
export const lostOfEpoch = (entries: string, epoch: number) => `${entries} of epoch ${epoch}`;
export const noServiceShowsYouItsLedger = 'No service shows you its ledger';
export const secrets = 'Secrets';
export const witnesses = 'Witnesses';
export const subscriptions = 'Subscriptions';
export const pagesOfOperations = 'Pages of Operations';
export const tooMuchForAPage = 'Too much for a page';
export const tooMuchForAPageHint = 'Choose a shorter period, or use: npx sealgate audit export';
export const processes = (count: number, shown: string) => (count === 1 ? '1 process' : `${shown} processes`);
export const missingIn = (processes: string) => `Missing in ${processes}`;
export const inUse = 'In use';
export const inUseByOf = (using: string, all: string) => `In use by ${using} of ${all}`;
export const acceptedNotUsedYet = 'Accepted, not used yet';
export const replacedStillNeeded = 'Replaced, still needed';
export const replacedCanBeRemoved = 'Replaced, can be removed';
export const accepted = 'Accepted';
export const acceptedByOf = (accepting: string, all: string) => `Accepted by ${accepting} of ${all}`;
export const secretsIntro = (command: ReactNode): ReactNode =>
  phrase`Which secrets the processes have, and what still needs an old one. They are rotated in the settings of the services; the next step of one: ${command}`;
export const processesReported = (count: number) =>
  count === 1 ? 'One process reported in the last minutes.' : `${count} processes reported in the last minutes.`;

export const serverSecretsOf = (service: string) => `Server secrets of ${service}`;
export const serverSecret = 'Server secret';
export const lastUsed = 'Last used';
export const never = 'Never';
export const neededFor = 'Needed for';
export const noProcessHasReportedYet = 'No process has reported yet';
export const noProcessHasReportedYetHint = 'They report within two minutes of their start.';
export const nothing = 'Nothing';
export const neededUntilMadeAgain = (needed: string) => `${needed}, until they are made again`;
export const neededUntil = (needed: string, until: ReactNode): ReactNode => phrase`${needed}, until ${until}`;
export const acceptedTokensAndKeysOf = (service: string) => `Accepted tokens and keys of ${service}`;
export const tokenOrKey = 'Token or key';
export const setting = 'Setting';
export const resume = 'Resume';
export const pause = 'Pause';
export const remove = 'Delete';
export const goesOnWithTriedEvent =
  'It goes on with the first event that was not acknowledged, which was tried for 72 hours; nothing was left out.';
export const goesOnWithEvent = 'It goes on with the first event that was not acknowledged; nothing was left out.';
export const resumeTheSubscription = 'Resume the subscription';
export const pauseTheSubscription = 'Pause the subscription';
export const resumeIt = 'Resume it';
export const pauseIt = 'Pause it';
export const pauseHint = 'Nothing is sent until it is resumed; then it goes on where it stopped.';
export const deleteTheSubscription = 'Delete the subscription';
export const deleteHint = (url: string) =>
  `Nothing more is sent to ${url}, and how far it is gets lost: a new subscription begins where it is told to.`;
export const secretNameFault = 'Lower-case letters, digits and hyphens.';
export const theSecretIsMade = 'The secret is made';
export const addASecret = 'Add a secret';
export const secretsHint =
  'Each of them signs every webhook: add a new one, set it at the receiver, then end the old one.';
export const sinceWhen = (what: ReactNode, at: ReactNode): ReactNode => phrase`${what}, since ${at}`;
export const endTheSecret = (id: string) => `End the secret ${id}`;
export const endIt = 'End it';
export const theOtherSecretIsInUse = 'The receiver verifies with the secret that stays';
export const nameOfTheNewSecret = 'Name of the new secret';
export const nameOfTheNewSecretHint = 'Lower-case letters, digits and hyphens. Its value is made here and shown once.';
export const theSecretIsShownOnce = (id: string) => `The secret ${id} is shown once`;
export const copyTheSecret = 'Copy the secret';
export const newSecretHint =
  'The receiver verifies webhooks with this secret, by any library of Standard Webhooks. It is kept encrypted.';
export const newSubscription = 'New subscription';
export const subscriptionsIntro =
  'Commits of a channel, and what contracts on Fabric emit, are sent to a receiver as signed webhooks: in order, and until each is acknowledged.';
export const wordsInUrl = 'Words in URL, channel or id';
export const receiver = 'Receiver';
export const copyTheAddress = 'Copy the address';
export const lastAttempt = 'Last attempt';
export const made = 'Made';
export const actions = 'Actions';
export const actionsOf = (url: string) => `Actions of ${url}`;
export const noSubscriptionYet = 'No subscription yet';
export const noSubscriptionYetHint =
  'A receiver needs an https address. Without one, programs read the same events at /api/events.';
export const theSubscriptionIsMade = 'The subscription is made';
export const active = 'Active';
export const failing = 'Failing';
export const paused = 'Paused';
export const stopped = 'Stopped';
export const theAddressIsNotPublic = 'The address is not public';
export const theNameDoesNotResolve = 'The name does not resolve';
export const noAnswer = 'No answer';
export const certificateRefused = 'Its certificate is of another name, or of no authority that is known here';
export const itRedirects = 'It redirects, which is not followed';
export const itAnswersWithAnError = 'It answers with an error';
export const noneOfItsSecretsCan = 'None of its secrets can be opened';
export const nothingYet = 'Nothing yet';
export const acknowledged = (deliveredAt: ReactNode): ReactNode => phrase`Acknowledged ${deliveredAt}`;
export const thisIsNoAddress = 'This is no address.';
export const makeIt = 'Make it';
export const unknownChannelHint = 'The mapping file of the ledger peer names the channels that it serves.';
export const unknownTypeHint = 'The mapping file maps no such type to this channel.';
export const addressOfTheReceiver = 'Address of the receiver';
export const addressOfTheReceiverHint =
  'https, and public; SUBSCRIPTION_ALLOWED_CIDRS of the ledger peer names private networks.';
export const channelHint = 'As the mapping names it: acme.main.';
export const typesOfRecords = 'Types of records';
export const typesOfRecordsHint = 'None: all that are mapped to the channel.';
export const beginsWith = 'Begins with';
export const theNextEvent = 'the next event';
export const theFirstEvent = 'the first event of the channel';
export const witnessesIntro =
  'Witnesses are other parties that sign a checkpoint after they have verified that its log only grew. A policy says which, and how many make a quorum.';
export const noWitnessesHere = 'No witnesses here';
export const noWitnessesHereHint =
  'This process has no policy. The process that integrates has it, in LEDGER_WITNESS_POLICY and LEDGER_CHANNEL_WITNESS_POLICIES.';
export const publishedCheckpoints = 'Published checkpoints';
export const policyOfAllChannels = 'Policy of all channels';
export const policyOf = (channel: string) => `Policy of ${channel}`;
export const noWitnessIsAsked = 'No witness is asked.';
export const witnessesOfAllChannels = 'Witnesses of all channels';
export const witnessesOf = (channel: string) => `Witnesses of ${channel}`;
export const witness = 'Witness';
export const keyName = 'Key name';
export const keyToPin = 'Key to pin';
export const copyTheKey = 'Copy the key';
export const address = 'Address';
export const cosignedCheckpoints = 'Cosigned checkpoints';
export const records = 'Records';
export const theLedgerIsEmpty = 'The ledger is empty';
export const noPolicyHere = 'No policy here';
export const checking = 'Checking …';
export const nothingIsPublishedYet = 'Nothing is published yet';
export const quorum = 'Quorum';
export const noQuorum = 'No quorum';
export const atEntries = (count: string) => `at ${count} entries`;
export const wrongSignature = 'wrong signature';
export const hasNotCosigned = 'has not cosigned';
