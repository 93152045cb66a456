import { useEffect, useState, type ReactNode } from 'react';
import { Asking } from './asking.tsx';
import classes from './door.module.css';
import { forgetPost, keptPost } from './kept-post.ts';
import { PostForm } from './post-form.tsx';

/** A page for a tablet at a venue. Uses a gate key, without a sign-in; nothing is stored unless the steward wants it. */
export function DoorPart(): ReactNode {
  const [post, setPost] = useState(keptPost);
  useEffect(() => {
    // A page restored from the back/forward cache would still have a key that was not to be kept.
    const forget = (event: PageTransitionEvent) => {
      if (event.persisted) setPost(keptPost());
    };
    window.addEventListener('pageshow', forget);
    return () => window.removeEventListener('pageshow', forget);
  }, []);
  // Of the post before, for whoever enters the next key.
  const [lastVenueId, setLastVenueId] = useState<string>();
  const leave = () => {
    forgetPost();
    setLastVenueId(post?.venueId);
    setPost(undefined);
  };
  return (
    <div className={classes['door']}>
      {post === undefined ? (
        <PostForm onStart={setPost} lastVenueId={lastVenueId} />
      ) : (
        <Asking post={post} onLeave={leave} />
      )}
    </div>
  );
}
