import { describe, expect, it } from '@jest/globals';
import { askVerdict, sendVerdict } from './fabric-status.ts';

const failure = (code: number, message: string, ...details: string[]) => ({
  code,
  message,
  details: details.map((text) => ({ address: 'peer0:7051', mspId: 'NorthMSP', message: text })),
});
const noConnection = (error: string) =>
  failure(14, `No connection established. Last error: ${error} Resolution note: `);
const BUSY = 'too many requests for /gateway.Gateway, exceeding concurrency limit (500)';

describe('the verdict on an Evaluate or Endorse error', () => {
  // Messages and codes of Fabric 2.5 peers.
  it.each([
    ['refused', failure(10, 'failed to endorse transaction', 'chaincode response 500, the asset a does not exist')],
    [
      'refused',
      failure(2, 'evaluate call to endorser returned error: chaincode response 500, the asset a does not exist'),
    ],
    // Regardless of asset names.
    ['refused', failure(10, 'failed', 'chaincode response 500, the asset Function a not found in contract is taken')],
    ['overloaded', failure(2, BUSY)],
    ['overloaded', failure(8, BUSY)],
    ['away', failure(14, 'connection refused')],
    ['away', failure(4, 'endorsement timeout expired while collecting first endorsement')],
    ['away', failure(1, 'evaluate call to endorser returned error: context canceled')],
    [
      'elsewhere',
      failure(9, 'no combination of peers can be derived: no peer combination can satisfy the endorsement policy'),
    ],
    ['elsewhere', failure(14, 'failed to find any endorsing peers for org(s): Org2MSP')],
    [
      'elsewhere',
      failure(9, "no endorsers found in the gateway's organization; retry specifying endorsing organization(s)"),
    ],
    ['again', failure(10, 'failed to endorse transaction', 'error in simulation: failed to execute transaction')],
    ['again', failure(10, 'failed to collect enough transaction endorsements')],
    ['again', failure(2, 'something new')],
    ['misconfigured', failure(9, 'no peers available to evaluate chaincode x in channel y')],
    [
      'misconfigured',
      failure(9, 'no combination of peers can be derived: No metadata was found for chaincode x in channel y'),
    ],
    [
      'misconfigured',
      failure(10, 'failed to endorse', 'error validating proposal: access denied: channel [c] creator org [M]'),
    ],
    [
      'misconfigured',
      failure(9, 'evaluate call', 'access denied: channel [c] creator org unknown, creator is malformed'),
    ],
    ['misconfigured', failure(14, 'failed to get config for channel [c]: could not get last config for channel c')],
    ['misconfigured', failure(7, 'no')],
    ['misconfigured', failure(12, 'unknown service gateway.Gateway')],
    ['misconfigured', failure(3, 'the proposed transaction must contain a signed proposal')],
  ])('%s: %j', (kind, error) => {
    expect(askVerdict(error).kind).toBe(kind);
  });

  // Messages of real peers, and of grpc-js.
  it.each([
    ['contract_missing', failure(9, 'no peers available to evaluate chaincode x in channel y')],
    ['contract_missing', failure(9, 'no combination of peers: No metadata was found for chaincode x in channel y')],
    [
      'function_missing',
      failure(
        10,
        'failed',
        "chaincode response 500, Error: You've asked to invoke a function that does not exist: Put",
      ),
    ],
    ['function_missing', failure(10, 'failed', 'chaincode response 500, Contract name is not known: Other')],
    ['function_missing', failure(2, 'evaluate call: chaincode response 500, Function Put not found in contract Other')],
    ['function_missing', failure(2, 'evaluate call: chaincode response 500, Contract not found with name Other')],
    ['channel_missing', failure(14, 'failed to get config for channel [c]: could not get last config for channel c')],
    ['identity_refused', failure(10, 'failed', 'access denied: channel [c] creator org unknown, creator is malformed')],
    ['not_a_gateway', failure(12, 'unknown service gateway.Gateway')],
    ['no_answer', failure(4, 'Deadline exceeded')],
    ['no_answer', failure(14, 'the contract says ECONNREFUSED')],
    ['tls_client_certificate_required', noConnection('error:0A000412:SSL routines::ssl/tls alert bad certificate')],
    ['tls_client_certificate_required', noConnection('error:0A000418:SSL routines::tlsv1 alert unknown ca')],
    ['tls_client_certificate_required', noConnection('error:0A00045C:SSL routines::tlsv13 alert certificate required')],
    ['dns_failed', failure(14, 'Name resolution failed for target dns:peer.invalid:7051')],
    [
      'connection_refused',
      failure(14, 'No connection established. Last error: Error: connect ECONNREFUSED 10.0.0.1:1.'),
    ],
  ])('gives the reason %s', (reason, error) => {
    expect(askVerdict(error)).toMatchObject({ reason });
  });

  it("passes on the contract's message only, also over several lines", () => {
    const said = 'chaincode response 500, first\nsecond, chaincode response 1, third';
    expect(askVerdict(failure(10, 'failed', 'peer away', said))).toEqual({
      kind: 'refused',
      message: 'first\nsecond, chaincode response 1, third',
    });
  });

  it("does not misread a contract's message about requests or access", () => {
    for (const words of [BUSY, 'access denied: not your asset']) {
      expect(askVerdict(failure(10, 'failed', `chaincode response 500, ${words}`))).toEqual({
        kind: 'refused',
        message: words,
      });
    }
  });
});

describe('the verdict on a Submit error', () => {
  it.each([
    ['unknown', failure(14, 'no orderers could successfully process transaction')],
    ['unknown', failure(4, 'submit timeout expired while broadcasting to ordering service')],
    ['unknown', failure(1, 'cancelled')],
    ['unknown', failure(13, 'internal')],
    ['unknown', failure(2, 'something new')],
    ['unknown', failure(8, 'message larger than max')],
    ['unsent', failure(2, BUSY)],
    ['refused', failure(10, 'received unsuccessful response from orderer: status=BAD_REQUEST, info=too large')],
    ['refused', failure(9, 'channel c not found')],
    ['refused', failure(3, 'prepared transaction must be signed')],
  ])('%s: %j', (kind, error) => {
    expect(sendVerdict(error).kind).toBe(kind);
  });
});
