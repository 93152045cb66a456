import { describe, expect, it } from '@jest/globals';
import { TurnQueue } from './turn-queue.ts';

const queueOf = (...items: [sender: string, item: string][]): TurnQueue<string> => {
  const queue = new TurnQueue<string>({ maxBytes: 10, maxBytesOfOne: 6 });
  for (const [sender, item] of items) expect(queue.add(sender, 1, item)).toBe(true);
  return queue;
};

const taken = (queue: TurnQueue<string>): string[] => {
  const items: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) items.push(item);
  return items;
};

describe('a queue of turns', () => {
  it('gives each sender a turn, and keeps the order of each', () => {
    const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['a', 'a3'], ['b', 'b1'], ['c', 'c1'], ['b', 'b2']);
    expect(queue.size).toBe(6);
    expect(taken(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect(queue.size).toBe(0);
  });

  it('lets a sender who comes later have the next turn but those before', () => {
    const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['a', 'a3']);
    expect(queue.take()).toBe('a1');
    queue.add('b', 1, 'b1');
    expect(taken(queue)).toEqual(['a2', 'b1', 'a3']);
  });

  it('is bounded in bytes for one and for all, to the byte, and takes again what room was made for', () => {
    const queue = new TurnQueue<string>({ maxBytes: 10, maxBytesOfOne: 6 });
    expect(queue.add('a', 6, 'a1')).toBe(true);
    expect(queue.add('a', 1, 'a2')).toBe(false);
    expect(queue.add('b', 5, 'b1')).toBe(false);
    expect(queue.add('b', 4, 'b2')).toBe(true);
    expect(queue.add('c', 1, 'c1')).toBe(false);
    expect(queue.take()).toBe('a1');
    expect(queue.add('c', 6, 'c2')).toBe(true);
    expect(queue.size).toBe(2);
    expect(taken(queue)).toEqual(['b2', 'c2']);
  });

  it('forgets what is removed, and its bytes, once', () => {
    const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['b', 'b1']);
    queue.remove('a', 'a1');
    queue.remove('a', 'a1');
    queue.remove('b', 'b1');
    queue.remove('nobody', 'x');
    expect(queue.size).toBe(1);
    expect(queue.add('c', 6, 'c1')).toBe(true);
    expect(queue.add('b', 3, 'b2')).toBe(true);
    expect(taken(queue)).toEqual(['a2', 'c1', 'b2']);
  });
});
