import { Component, type ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { BrowserRouter, Link, Navigate, Route, Routes, useLocation } from 'react-router';
import { Layout } from './layout.tsx';
import { ListEmpty } from './list-states.tsx';
import { Page } from './page.tsx';
import { parts } from './parts.ts';
import { ProblemView } from './problem-view.tsx';
import * as texts from './texts.ts';

export const Pages = (): ReactNode => (
  <BrowserRouter>
    <Routes>
      <Route element={<Layout />}>
        <Route index element={<Navigate to="/home" replace />} />
        {parts.map(({ path, Page: Part }) => (
          <Route
            key={path}
            path={`${path}/*`}
            element={
              <Guarded>
                <Part />
              </Guarded>
            }
          />
        ))}
        <Route path="*" element={<NoSuchPage />} />
      </Route>
    </Routes>
  </BrowserRouter>
);

/** The error boundary of a part; another address is tried anew. */
function Guarded({ children }: { readonly children: ReactNode }): ReactNode {
  const { key } = useLocation();
  return <PartBoundary address={key}>{children}</PartBoundary>;
}

interface Boundary {
  readonly address: string;
  readonly failure: { readonly error: unknown } | undefined;
}

class PartBoundary extends Component<{ readonly address: string; readonly children: ReactNode }, Boundary> {
  override state: Boundary = { address: this.props.address, failure: undefined };

  static getDerivedStateFromError(error: unknown): Partial<Boundary> {
    return { failure: { error } };
  }

  static getDerivedStateFromProps({ address }: { readonly address: string }, state: Boundary): Boundary | null {
    return address === state.address ? null : { address, failure: undefined };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    return failure === undefined ? this.props.children : <PartFailed error={failure.error} />;
  }
}

/** The code of a part failed to load (a new version was deployed, or the network is down), or it threw. */
const PartFailed = ({ error }: { readonly error: unknown }): ReactNode => (
  <Page title={texts.thisPageFailed}>
    <ProblemView error={error} onRetry={() => globalThis.location.reload()}>
      <Text size="sm">{texts.reloadingFetchesNewVersion}</Text>
    </ProblemView>
  </Page>
);

/** Not-found page; parts use it below their own paths as well. */
export const NoSuchPage = (): ReactNode => (
  <Page title={texts.noSuchPage}>
    <ListEmpty
      title={texts.nothingIsAtThisAddress}
      icon="search"
      action={
        <Anchor component={Link} to="/home">
          {texts.toTheStartPage}
        </Anchor>
      }
    >
      {texts.nothingIsAtThisAddressHint}
    </ListEmpty>
  </Page>
);
