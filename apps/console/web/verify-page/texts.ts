export const sealgateVerify = 'Sealgate: verify';
export const verify = 'Verify';
export const verifyIntro =
  'Somebody gave you a proof: here your own browser checks that what it is about was written to the ledger when it says, and was not changed since. This page is one file, works without a network and sends nothing anywhere, so it cannot ask for keys either: who runs the ledger publishes them, and you paste them from where you trust them.';
