import { Alert, Button, Checkbox, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useId, useState, type FormEvent, type ReactNode } from 'react';
import { api } from '../../shell/api.ts';
import { useMayAdmin } from '../../shell/mine.ts';
import type { Venue } from '../cases/case-api.ts';
import classes from './door.module.css';
import { focusFault } from '../form-faults.ts';
import { forgetPost, keepPost } from './kept-post.ts';
import { testPost, type Post, type PostFault } from './test-post.ts';
import * as texts from './texts.ts';

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
        <Title order={1}>{texts.door}</Title>
        <Text>{texts.doorIntro}</Text>
        <div className={classes['fields']}>
          <TextInput
            name="venue"
            label={texts.venue}
            description={venues.length === 0 ? texts.venueHint : texts.venueHintWithOffer}
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
            label={texts.gateKey}
            description={texts.gateKeyHint}
            size="lg"
            required
            maxLength={100}
            autoComplete="off"
            error={faultAt('key')}
          />
        </div>
        <Checkbox name="keep" size="md" label={texts.keepBoth} description={texts.keepBothHint} />
        {faultAt('service') !== undefined && (
          <Alert color="red" role="alert" title={texts.theDoorCannotBeOpenedYet}>
            {faultAt('service')}
          </Alert>
        )}
        <Button type="submit" size="lg" loading={isTesting}>
          {texts.openTheDoorPage}
        </Button>
      </Stack>
    </form>
  );
}
