export const aHeaderOfTheSignature = 'A header of the signature';
export const headerNamed = (header: string) => `The header ${header}`;
export const placeOfFault = (pointer: string, detail: string) => `At ${pointer}: ${detail}`;
export const clockIsOff = 'Its signature is right, but its timestamp is too far from our clock.';
export const clockIsAhead = (span: string) =>
  `Its signature is right, but its timestamp is ${span} ahead of our clock.`;
export const clockIsBehind = (span: string) => `Its signature is right, but its timestamp is ${span} behind our clock.`;
export const aHeaderIsMissing = 'A header is missing';
export const headerMissingWhat = (header: string) => `${header} is missing, so the signature cannot be checked.`;
export const headerMissingTodo =
  'The sender signs in another way than this source expects, or a proxy removes the header. Compare the scheme, and the name of the header.';
export const aHeaderIsMalformed = 'A header is malformed';
export const headerMalformedWhat = (header: string) => `${header} has another form than the scheme of this source.`;
export const headerMalformedTodo =
  'Compare prefix, encoding and list form of the signature with what the sender documents.';
export const signatureOfAnotherSecret = 'Signature of another secret';
export const noMatchingSecretWhat =
  'It is signed, but with none of the secrets of this source; or it is not from its sender.';
export const noMatchingSecretTodo =
  'Compare the secret at both ends. If the sender has a new one, add it here; what was kept can then be processed again.';
export const clockSkew = 'Clock skew';
export const clockSkewTodo =
  'Correct the clock, yours or theirs. For deliveries that came late, tolerate their timestamps for a while, process them again, and set the tolerance back.';
export const tooLarge = 'Too large';
export const tooLargeWhat = 'It is larger than this source accepts.';
export const tooLargeWithBytes = (bodyBytes: string) => `It has ${bodyBytes}, more than this source accepts.`;
export const tooLargeTodo = 'Raise the largest body of this source, or let the sender send less.';
export const unsupportedMediaType = 'Unsupported media type';
export const itHasNoContentType = 'It has no Content-Type.';
export const mediaTypeWhat = (mediaType: string) => `Its Content-Type is ${mediaType}, or it has a Content-Encoding.`;
export const mediaTypeTodo = 'Set JSON, a form or text in UTF-8 without compression at the sender.';
export const theBodyIsNoJson = 'The body is no JSON';
export const notJsonTodo = 'Tell the sender: what it signed cannot be read by anybody.';
export const aConfiguredPlaceIsMissing = 'A configured place is missing';
export const configurationTodo = 'Correct where this source takes the id, type or owner from.';
export const typeNotAllowed = 'Type not allowed';
export const typeNotAllowedWhat = 'Its type is not among those that this source may deliver.';
export const typeNotAllowedTodo = 'Allow the type at this source, or stop it at the sender.';
export const channelMissing = 'Channel missing';
export const missingChannelWhat = 'This source writes to a channel that its network does not have.';
export const missingChannelTodo = 'Choose channels of the network at this source.';
export const overTheRateLimit = 'Over the rate limit';
export const overLimitWhat = 'The rate limit of the source or of its network was used up. The sender repeats it.';
export const overLimitTodo = 'If it happens often, raise the limits of source and network.';
export const deliveryIdUsedBefore = 'Delivery id used before';
export const deliveryIdReusedWhat =
  'A delivery of this id with other bytes was written before. It was answered 200, and nothing was written.';
export const deliveryIdReusedTodo = 'If the sender gives one id to several deliveries, take the id from another place.';
export const recordIdTaken = 'Record id taken';
export const recordIdTakenWhat =
  'A record of this id with other content exists. It was answered 200, and nothing was written.';
export const recordIdTakenTodo = 'If the place of the record id is not unique, choose another one.';
export const refusedInAFlood = 'Refused in a flood, without a look at the signature';
export const notServedUnavailable = 'Not served: the service was not available';
export const notServedOverloaded = 'Not served: too much at once';
export const notServedWithoutLedger = 'Not served: the ledger was out of reach';
export const outcomeNotKnown = 'Outcome not known; the sender repeats it';
export const sameDeliveryInProgress = 'The same delivery was still being written';
export const notCheckedHeaderMissing = 'not checked: a header is missing';
export const notCheckedHeaderMalformed = 'not checked: a header is malformed';
export const ofNoneOfTheSecrets = 'of none of the secrets';
export const rightOutOfTolerance = 'right, with a timestamp that is out of tolerance';
export const verified = 'verified';
export const notVerified = 'not verified';
