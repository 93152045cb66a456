import { Alert, Button, Checkbox, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useId, useState, type FormEvent, type ReactNode } from 'react';
import { api } from '../../shell/api.ts';
import { useMayAdmin } from '../../shell/mine.ts';
import type { Venue } from '../cases/case-api.ts';
import classes from './door.module.css';
import { focusFault } from '../form-faults.ts';
import { forgetPost, keepPost } from './kept-post.ts';
import { testPost, type Post, type PostFault } from './test-post.ts';

/** The open venues of the environment live, for whoever may list them; the key may be of another one. */
function useVenues(): readonly Venue[] {
  const mayList = useMayAdmin('case-gate', 'admin:read');
  const { data } = api.useQuery(
    'get',
    '/admin/case-gate/admin/v1/venues',
    { params: { query: { environment: 'live', limit: 200 } } },
    { enabled: mayList },
  );
  return (data?.items ?? []).filter(({ active }) => active);
}

interface PostFormProps {
  readonly onStart: (post: Post) => void;
  readonly lastVenueId: string | undefined;
}

/** Asks for venue and key, and tries both at the gate before the first person comes. */
export function PostForm({ onStart, lastVenueId }: PostFormProps): ReactNode {
  const venues = useVenues();
  const listId = useId();
  const [faults, setFaults] = useState<readonly PostFault[]>([]);
  const faultAt = (at: PostFault['at']) => faults.find((fault) => fault.at === at)?.says;
  const [isTesting, setTesting] = useState(false);
  const start = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const post = { key: String(form.get('gate-key')).trim(), venueId: String(form.get('venue')).trim() };
    setTesting(true);
    const found = await testPost({ fetch: window.fetch.bind(window) }, post);
    setTesting(false);
    setFaults(found);
    if (found.length > 0) return focusFault(element);
    if (form.get('keep') === null) forgetPost();
    else keepPost(post);
    onStart(post);
  };
  return (
    <form className={classes['post']} onSubmit={(event) => void start(event)} autoComplete="off" noValidate>
      <Stack gap="md">
        <Title order={1}>Door</Title>
        <Text>This page asks the gate whether somebody may enter.</Text>
        <div className={classes['fields']}>
          <TextInput
            name="venue"
            label="Venue"
            description={
              venues.length === 0
                ? 'The venue id of this tablet.'
                : 'The venue id of this tablet; those of the environment live are offered.'
            }
            defaultValue={lastVenueId}
            list={listId}
            size="lg"
            required
            maxLength={64}
            autoCapitalize="none"
            spellCheck={false}
            error={faultAt('venue')}
          />
          <datalist id={listId}>
            {venues.map(({ venue_id: id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </datalist>
          <PasswordInput
            name="gate-key"
            label="Gate key"
            description="With the scope gate:check. It is tried at the gate before the door opens."
            size="lg"
            required
            maxLength={100}
            autoComplete="off"
            error={faultAt('key')}
          />
        </div>
        <Checkbox
          name="keep"
          size="md"
          label="Keep both until this tab is closed"
          description="Else they stay in the memory of this page, and a reload forgets them."
        />
        {faultAt('service') !== undefined && (
          <Alert color="red" role="alert" title="The door cannot be opened yet">
            {faultAt('service')}
          </Alert>
        )}
        <Button type="submit" size="lg" loading={isTesting}>
          Open the door page
        </Button>
      </Stack>
    </form>
  );
}
