export const answerAlone = 'An answer proves nothing by itself: drop the proof of one of its records beside it.';
export const recordAlone =
  'A record proves nothing by itself: drop its proof; or, of a webhook, the delivery beside it, byte by byte as it was sent.';
export const pathAlone = 'This connects two checkpoints: drop both beside it.';
export const notConnected =
  'These trees have different sizes: drop what connects them beside them, a list of hashes or {"consistencyPath": [...]}. From tiles, "sealgate-verify consistency --tiles" makes it.';
export const noTrust =
  'A proof on Fabric is checked with the trust file of its channel: drop it beside the file, from where you trust it. "npx sealgate fabric trust" makes it.';
export const name = 'the proof in the link';
export const damaged = 'The proof in this link is damaged: it may have been cut when it was copied.';
export const itIsTooLong = 'It is too long.';
export const logKeyIsMissing =
  'Choose the key to check against: paste the key of the log above, from where you trust it.';
export const senderKeyIsMissing =
  'Choose the key to check against: paste the public key of the sender above (whpk_...).';
export const senderKeyFault = (index: number) =>
  `Line ${index} of the senders' keys is none: whpk_ and 32 bytes in base64.`;
export const isEmpty = (name: string) => `${name} is empty.`;
export const isNotKnown = (name: string) =>
  `${name} is no proof, policy, answer, checkpoint, declaration, envelope, eligibility record, pack or key set that is known here. Content and deliveries are checked beside the proof or the record that they belong to, signed documents with their signature and key set above.`;
