import { useState, type FormEvent, type ReactNode } from 'react';
import { Button, Group, Paper, TextInput } from '@mantine/core';
import { Route, Routes, useNavigate } from 'react-router';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { NoSuchPage } from '../../shell/routes.tsx';
import { useSession } from '../../shell/session.ts';
import { publishes } from '../prove/take-keys.ts';
import { LogPage } from './log-page.tsx';

/** Public logs, for everybody: what the ledger peer answers without a key. */
export function LogPart(): ReactNode {
  const session = useSession();
  if (session.data === undefined || !publishes(session.data, 'ledger-peer')) {
    return (
      <Page title="Public log">
        {session.data === undefined ? (
          <Unread read={session} />
        ) : (
          <Paper>
            <ListEmpty title="No public log is served here" icon="ledger" />
          </Paper>
        )}
      </Page>
    );
  }
  return (
    <Routes>
      <Route index element={<ChooseLog />} />
      <Route path=":channel" element={<LogPage />} />
      <Route path="*" element={<NoSuchPage />} />
    </Routes>
  );
}

function ChooseLog(): ReactNode {
  const [name, setName] = useState('');
  const navigate = useNavigate();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() !== '') void navigate(`/log/${encodeURIComponent(name.trim())}`);
  };
  return (
    <Page title="Public log" intro="Look a record up in a log that everybody may read. A receipt names its log.">
      <Paper>
        <form onSubmit={submit}>
          <Group align="flex-end">
            <TextInput
              label="Log"
              description="As network.name"
              maxLength={128}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <Button type="submit">Open the log</Button>
          </Group>
        </form>
      </Paper>
    </Page>
  );
}
